// Bundles the sources for Node. `node scripts/bundle.mjs ENTRY FILE` bundles a program of the tests or benchmarks with
// its imports from src/ into one file. scripts/build.mjs makes the shipped bundle.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The chunks that every command loads, and that every command with an engine loads. They include the imports of the
 * listed modules. Any other dynamic import is its own chunk, loaded on demand.
 */
const sharedChunks = [
  { name: 'start', modules: ['src/config/read/load.ts', 'src/config/show/help.ts'] },
  {
    name: 'work',
    modules: [
      'src/adapters/docker/engine.ts',
      'src/adapters/oci/registry.ts',
      'src/adapters/probe/prober.ts',
      'src/adapters/process/clock.ts',
      'src/adapters/process/instance.ts',
      'src/adapters/process/log.ts',
      'src/application/create-application.ts',
      'src/composition/open-engine.ts',
      'src/composition/run-command.ts',
      'src/interfaces/cli/cli.ts',
      'src/interfaces/cli/commands/run.ts',
      'src/interfaces/cli/terminal/terminal.ts',
    ],
  },
  // The chunks below group modules that are loaded together.
  {
    name: 'fleet',
    modules: [
      'src/composition/fleet.ts',
      'src/application/fleet/create-fleet.ts',
      'src/application/fleet/members.ts',
      'src/application/fleet/waves.ts',
    ],
  },
  {
    name: 'commands',
    modules: [
      'src/interfaces/cli/commands/check.ts',
      'src/interfaces/cli/commands/update.ts',
      'src/interfaces/cli/commands/rollback.ts',
      'src/interfaces/cli/commands/recover.ts',
      'src/interfaces/cli/commands/containers.ts',
      'src/interfaces/cli/commands/history.ts',
      'src/interfaces/cli/commands/events.ts',
      'src/interfaces/cli/commands/config.ts',
      'src/interfaces/cli/commands/notes.ts',
      'src/interfaces/cli/commands/data.ts',
    ],
  },
  { name: 'tables', modules: ['src/interfaces/cli/render/live-table.ts', 'src/interfaces/cli/terminal/table.ts'] },
  {
    name: 'sources',
    modules: [
      'src/interfaces/cli/context/sources.ts',
      'src/interfaces/cli/context/decision-sources.ts',
      'src/interfaces/cli/commands/decide.ts',
    ],
  },
  {
    name: 'memory',
    modules: [
      'src/composition/memory.ts',
      'src/adapters/files/state-folder.ts',
      'src/adapters/process/seal.ts',
      'src/adapters/process/verification-keys.ts',
    ],
  },
  {
    name: 'notifications',
    modules: [
      'src/composition/notifications.ts',
      'src/application/notify/notifier.ts',
      'src/application/notify/entity-keeper.ts',
      'src/adapters/notify/targets.ts',
      'src/adapters/files/outbox-file.ts',
      'src/interfaces/json/run-event.ts',
      'src/interfaces/cli/commands/notify.ts',
    ],
  },
  {
    name: 'http',
    modules: [
      'src/interfaces/http/server/server.ts',
      'src/interfaces/http/server/connections.ts',
      'src/interfaces/metrics/metrics.ts',
    ],
  },
];

/**
 * Packages, with what is imported from them, in files of their own. They are loaded at the first use of it, because
 * loading them takes as long as a short command: they have tables of all characters.
 */
const usedLater = { re2js: 'RE2JS', croner: 'Cron', 'string-width': 'default', 'wrap-ansi': 'default' };

/** CommonJS, because Node loads it a third faster than modules. Resolves to the chunks that were written. */
export async function bundleProgram(folder) {
  const groups = sharedChunks.map(({ name, modules }, index) => ({
    name,
    test: (id) => modules.includes(id.slice(root.length)),
    priority: sharedChunks.length - index,
  }));
  const chunks = await bundle('src/main.ts', {
    dir: folder,
    format: 'cjs',
    sourcemap: true,
    codeSplitting: { groups },
    chunkFileNames: '[name].js',
    exports: 'named',
    // Stack traces keep their names.
    minify: { mangle: { keepNames: true }, compress: false, codegen: { removeWhitespace: true } },
    plugins: [loadedAtFirstUse],
  });
  const bundled = new Set(chunks.flatMap(({ moduleIds }) => moduleIds));
  for (const path of sharedChunks.flatMap(({ modules }) => modules))
    if (!bundled.has(resolve(root, path))) throw new Error(`Cannot split the bundle: main.ts does not reach ${path}`);
  return chunks;
}

/** Bundles a script into one ES module. */
export function bundleScript(entry, file) {
  return bundle(entry, { file, format: 'esm', codeSplitting: false });
}

const stands = '\0at-first-use:';

const loadedAtFirstUse = {
  name: 'packages that are loaded at their first use',
  buildStart() {
    for (const id of Object.keys(usedLater)) this.emitFile({ type: 'chunk', id, fileName: `${id}.js` });
  },
  resolveId: (id, importer) => (id in usedLater && importer !== undefined ? `${stands}${id}` : undefined),
  load(id) {
    const name = id.startsWith(stands) ? id.slice(stands.length) : undefined;
    return (
      name &&
      `import { createRequire } from 'node:module';
      let loaded;
      const load = () => (loaded ??= createRequire(import.meta.url)('./${name}.js').${usedLater[name]});
      const use = new Proxy(function () {}, {
        apply: (_, self, given) => load()(...given),
        construct: (_, given) => new (load())(...given),
        get: (_, key) => load()[key],
      });
      export { use as ${usedLater[name]} };`
    );
  },
};

/** Options of rolldown: any warning ends the build, but none is given because the machine is slow. */
export const strictly = (what) => ({
  checks: { bundlerTimings: false },
  onLog: (level, { code, message }) => {
    if (level === 'warn') throw new Error(`Cannot bundle ${what}: ${code}: ${message}`);
  },
});

async function bundle(entry, { plugins, ...output }) {
  const build = await rolldown({
    input: resolve(root, entry),
    platform: 'node',
    plugins,
    ...strictly(entry),
  });
  try {
    const { output: files } = await build.write({ comments: false, ...output });
    return files.filter(({ type }) => type === 'chunk');
  } finally {
    await build.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [entry, file] = process.argv.slice(2);
  await bundleScript(entry, file);
}
