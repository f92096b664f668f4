import { bootContract } from './boot.ts';
import { sandboxFixture } from './engine/sandbox-fixture.ts';

bootContract('The sandbox', (options) => Promise.resolve(sandboxFixture(options)));
bootContract('The sandbox as version 28', (options) => Promise.resolve(sandboxFixture({ ...options, version: '28' })));
