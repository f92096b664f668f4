import { bootContract } from './boot.ts';
import { sandboxFixture } from './engine/sandbox-fixture.ts';

bootContract('The sandbox', (options) => Promise.resolve(sandboxFixture(options)));
