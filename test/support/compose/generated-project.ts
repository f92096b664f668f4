/** A compose project as people write them, of a seed: its files, in the order of the command, and its env files. */
export type GeneratedProject = {
  readonly files: Readonly<Record<string, string>>;
  readonly order: readonly string[];
  readonly envFiles: readonly string[];
};

export function generatedProject(seed: number): GeneratedProject {
  const { one, chance } = choices(seed);
  const files: Record<string, string> = {};
  const tag = () => one(['1.27', '1.27.4-alpine', '8', 'v2.0.0', 'latest']);
  const reference = () =>
    one([
      () => `nginx:${tag()}`,
      () => `"redis:${tag()}"`,
      () => `'ghcr.io/acme/api:${tag()}'`,
      () => 'postgres',
      () => `nginx:\${TAG:-${tag()}}`,
      () => 'nginx:${TAG-1.0}',
      () => 'redis:$TAG',
      () => '${IMAGE:-httpd}:${TAG:-2.4}',
      () => `nginx:\${NONE:-\${OTHER:-${tag()}}}`,
      () => 'nginx:${MAJOR:-1}.${MINOR:-27}',
      () => '${WHOLE:-nginx:1}',
      () => `nginx:\${EMPTY:-${tag()}}`,
      () => 'nginx:${EMPTY-x}1',
      () => 'nginx:1${TAG:+-x}',
      () => String.raw`"ngi\x6ex:1.27"`,
      () => '>-\n      nginx:1.27',
      () => `hub.test:5000/x:${tag()} # comment`,
    ])();
  const service = (name: string, others: readonly string[]): string => {
    const form = one(['image', 'image', 'image', 'extends', 'file', 'merge', 'alias', 'both', 'build']);
    const lines: string[] = [];
    if (form === 'image' || form === 'both') lines.push(`    image: ${reference()}`);
    if (form === 'extends') lines.push(...(others.length > 0 ? ['    extends:', `      service: ${one(others)}`] : []));
    if (form === 'file') {
      files['sub/base.yaml'] ??=
        `services:\n  base:\n    image: ${reference()}\n  other:\n    extends: base\n    command: x\n`;
      lines.push('    extends:', '      file: sub/base.yaml', `      service: ${one(['base', 'other'])}`);
    }
    if (form === 'both') lines.push('    <<: *common');
    if (form === 'merge') lines.push(chance(0.5) ? '    <<: *common' : '    <<: [*common, *more]');
    if (form === 'alias') lines.push('    image: *ref');
    return [`  ${name}:`, ...(lines.length > 0 ? lines : ['    build: .'])].join('\n');
  };
  const used = ['web', 'db', 'cache', 'job'].slice(0, one([1, 2, 3, 4]));
  const head = [
    'x-common: &common',
    `  image: ${reference().replaceAll('\n      ', '\n    ')}`,
    'x-more: &more',
    '  image: more:1',
    '  command: y',
    `x-ref: &ref ${one(['busybox:1.36', '"busybox:1.36"'])}`,
  ].join('\n');
  const services = used.map((name, index) => service(name, used.slice(0, index))).join('\n');
  const main = `${chance(0.1) ? '\u{feff}' : ''}${head}\nservices:\n${services}\n`;
  files['compose.yaml'] = main.replaceAll('\n', chance(0.15) ? '\r\n' : '\n');
  const order = ['compose.yaml'];
  if (chance(0.4)) {
    const overrides = used.slice(0, 2).map((name) => {
      const own = chance(0.6) ? `image: ${reference()}` : 'command: z';
      return one([
        `  ${name}:\n    ${own}`,
        `  ${name}:\n    ${own}`,
        `  ${name}: !override\n    image: ${reference()}`,
        `  ${name}:\n    image: !reset null\n    build: .`,
        `  ${name}: !reset null`,
      ]);
    });
    files['override.yaml'] = `services:\n${overrides.join('\n')}\n`;
    order.push('override.yaml');
  }
  if (chance(0.3)) {
    files['inc/part.yaml'] = `services:\n  inner:\n    image: ${reference()}\n`;
    if (chance(0.5)) files['inc/.env'] = 'TAG=in-include\nMAJOR=9\n';
    files['inc/other.env'] = "TAG='other'\n";
    files['compose.yaml'] += one([
      'include:\n  - inc/part.yaml\n',
      'include:\n  - path: ./inc/part.yaml\n',
      'include:\n  - path: [inc/part.yaml]\n    project_directory: .\n',
      'include:\n  - path: inc/part.yaml\n    env_file: inc/other.env\n',
    ]);
  }
  const line = (name: string, value: string): string =>
    one([
      `${name}=${value}`,
      `export ${name}='${value}' # c`,
      `${name}="${value}"`,
      `${name}: ${value}`,
      `${name}=${value} # comment`,
      `${name} = ${value}`,
      String.raw`SECRET="a\.\$b\"c"` + `\n${name}=${value}`,
    ]);
  const env = (): string =>
    [
      ...(chance(0.7) ? [line('TAG', tag())] : []),
      ...(chance(0.3) ? [line('TAG', tag())] : []),
      ...(chance(0.3) ? ['MAJOR=2', 'MINOR="${MAJOR}7"'] : []),
      ...(chance(0.3) ? ['EMPTY='] : []),
      ...(chance(0.2) ? ['WHOLE=nginx:${TAG:-5}'] : []),
      ...(chance(0.2) ? ['# a comment', '', 'IMAGE=docker.io/library/caddy'] : []),
      ...(chance(0.1) ? ['INHERITED'] : []),
    ].join(one(['\n', '\r\n'])) + (chance(0.8) ? '\n' : '');
  if (chance(0.8)) files['.env'] = env();
  if (!chance(0.2)) return { files, order, envFiles: [] };
  files['one.env'] = env();
  files['two.env'] = env();
  return { files, order, envFiles: ['one.env', 'two.env'] };
}

function choices(seed: number) {
  let state = Math.imul(seed, 2_654_435_761) + 1;
  const next = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return state / 2 ** 32;
  };
  const one = <Each>(list: readonly [Each, ...Each[]] | readonly Each[]): Each => {
    const chosen = list[Math.floor(next() * list.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  };
  return { one, chance: (share: number) => next() < share };
}
