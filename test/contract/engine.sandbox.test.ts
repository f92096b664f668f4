import { engineContract } from './engine.ts';
import { sandboxFixture } from './engine/sandbox-fixture.ts';

engineContract('The sandbox', () => Promise.resolve(sandboxFixture()));
engineContract('The sandbox as version 28', () => Promise.resolve(sandboxFixture({ version: '28' })));
