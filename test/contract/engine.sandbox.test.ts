import { engineContract } from './engine.ts';
import { sandboxFixture } from './engine/sandbox-fixture.ts';

engineContract('The sandbox', () => Promise.resolve(sandboxFixture()));
