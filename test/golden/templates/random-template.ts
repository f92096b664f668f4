/** A template of the subset, always the same for a seed, about the fixture `values`. */
export function randomTemplate(seed: number): string {
  const random = createRandom(seed);
  return `${definitions(random)}${block(random, { depth: 3, variables: [], inRange: false })}`;
}

type Random = { readonly below: (bound: number) => number; readonly pick: <One>(from: readonly One[]) => One };

/** https://en.wikipedia.org/wiki/Xorshift, which needs no library and never changes. */
function createRandom(seed: number): Random {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0 || 1;
  const below = (bound: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % bound;
  };
  return { below, pick: (from) => from[below(from.length)]! };
}

type Place = { readonly depth: number; readonly variables: string[]; readonly inRange: boolean };

function definitions({ below }: Random): string {
  return below(4) === 0
    ? `{{define "item"}}<{{.}}>{{end}}\n`
    : '{{- define "item" -}} ({{printf "%v" .}}) {{- end -}} ';
}

function block(random: Random, place: Place): string {
  const inside = { ...place, variables: [...place.variables] };
  return Array.from({ length: 1 + random.below(4) }, () => piece(random, inside)).join('');
}

function piece(random: Random, place: Place): string {
  const { below, pick } = random;
  if (place.depth === 0) return text(random) + action(random, value(random, 2, place));
  const body = () => block(random, { ...place, depth: place.depth - 1 });
  switch (below(12)) {
    case 0:
    case 1:
      return text(random);
    case 2: {
      const other = below(2) === 0 ? '' : `${action(random, `else if ${bool(random, 1, place)}`)}${body()}`;
      const last = below(2) === 0 ? '' : `${action(random, 'else')}${body()}`;
      return `${action(random, `if ${pick([bool, value])(random, 2, place)}`)}${body()}${other}${last}${action(random, 'end')}`;
    }
    case 3: {
      const name = fresh(place);
      const inner = { ...place, depth: place.depth - 1, variables: [...place.variables, name] };
      return `${action(random, `with ${name} := ${value(random, 2, place)}`)}${block(random, inner)}{{.}}${action(random, 'else')}${body()}${action(random, 'end')}`;
    }
    case 4:
    case 5:
      return range(random, place);
    case 6: {
      const name = fresh(place);
      const declared = action(random, `${name} := ${value(random, 2, place)}`);
      place.variables.push(name);
      return declared;
    }
    case 7:
      if (place.variables.length === 0) return text(random);
      return action(random, `${pick(place.variables)} = ${value(random, 1, place)}`);
    case 8:
      return action(random, `template "item" ${operand(random, 1, place)}`);
    case 9:
      return `{{${pick(['', '- '])}/* a }} b */${pick(['', ' -'])}}}`;
    default:
      return text(random) + action(random, value(random, 3, place));
  }
}

function range(random: Random, place: Place): string {
  const { below, pick } = random;
  const over = pick(['$.list', '$.words', '$.mixed', '$.none', '$.map', '$.blank', '$.deep.inner', '(slice $.list 1)']);
  const names = [fresh(place), fresh({ ...place, variables: [...place.variables, 'more'] })];
  const declared = pick(['', `${names[0]} := `, `${names[0]}, ${names[1]} := `]);
  const known = declared === '' ? [] : declared.includes(',') ? names : names.slice(0, 1);
  const inner = { depth: place.depth - 1, variables: [...place.variables, ...known], inRange: true };
  const jump = below(3) === 0 ? `{{if ${bool(random, 1, inner)}}}{{${pick(['break', 'continue'])}}}{{end}}` : '';
  const last = below(2) === 0 ? '' : `{{else}}${text(random)}`;
  return `${action(random, `range ${declared}${over}`)}{{.}}${jump}${block(random, inner)}${last}${action(random, 'end')}`;
}

function fresh({ variables }: Place): string {
  return `$v${variables.length}`;
}

function text({ pick }: Random): string {
  return pick(['x', ' ', '\n', ' a\tb \n', '<ü> ', ', ', '{ ', '} ', '-', '\r\n  ']);
}

function action({ pick }: Random, inside: string): string {
  return `{{${pick(['', '', ' ', '- ', '-\n'])}${inside}${pick(['', '', ' ', ' -', '\n-'])}}}`;
}

/** A pipeline of any type. */
function value(random: Random, depth: number, place: Place): string {
  const { pick } = random;
  const piped = `${operand(random, depth - 1, place)} | ${pick(['print', 'printf "%v"', 'println', 'html', 'js', 'urlquery', 'not', 'printf "[%6v]"'])}`;
  const make = pick([string, number, float, bool, list, () => piped, () => `${string(random, 1, place)} | ToUpper`]);
  return make(random, depth, place);
}

/** The same as one argument. */
function operand(random: Random, depth: number, place: Place): string {
  const one = random.pick([string, number, float, bool, list])(random, depth, place);
  return one.includes(' ') && !/^"[^"]*"$/.test(one) ? `(${one})` : one;
}

function argument(make: Make, random: Random, depth: number, place: Place): string {
  const one = make(random, depth, place);
  return /^(?:[^\s]+|"[^"\\]*")$/.test(one) ? one : `(${one})`;
}

type Make = (random: Random, depth: number, place: Place) => string;

const paddings = [
  '%s',
  '%q',
  '%8s|',
  '%-8s|',
  '%.2s',
  '%x',
  '% X',
  '%+q',
  '%#q',
  '%d',
  '%v',
  '%5.1s|',
  '%T',
  '%[1]s%[1]q',
];

function string(random: Random, depth: number, place: Place): string {
  const { pick } = random;
  const leaf = () =>
    pick(['$.s', '$.empty', '$.tag', '$.quoted', '"lit"', '`raw\\n`', '"\\u00e9\\x41\\t"', '$.deep.inner.y', '""']);
  if (depth <= 0) return leaf();
  const sub = (make: Make) => argument(make, random, depth - 1, place);
  switch (random.below(9)) {
    case 0:
      return `printf "${pick(paddings)}" ${sub(string)}`;
    case 1:
      return `printf "${pick(['%d', '%5d', '%-5d|', '%05d', '%+d', '%x', '%#x', '%o', '%b', '%c', '%q', '%U', '%s', '%v', '% d', '%.3d', '%#U', '%O', '%*d'])}" ${sub(number)}`;
    case 2:
      return `printf "${pick(['%f', '%.1f', '%8.2f|', '%e', '%g', '%.3g', '%v', '%+.2f', '%08.3f', '%d', '%s', '%G', '%.0f'])}" ${sub(float)}`;
    case 3:
      return `print ${sub(pick([string, number]))} ${sub(pick([number, float, bool]))} ${sub(pick([number, string]))}`;
    case 4:
      return `${pick(['html', 'js', 'urlquery', 'ToUpper', 'ToLower'])} ${pick(['$.s', '$.quoted', '$.tag', '"<a b=\'c\'>&"'])}`;
    case 5:
      return `$.when.Format "${pick(['2006-01-02 15:04:05', 'Mon Jan _2 3:04PM MST', 'Monday, January 2 06', '02.01.06 pm -07:00 Z07', '__2 002 .000 ,999', 'Janet Months 2006-1-2', '15h04m05s Z0700'])}"`;
    case 6:
      return `slice ${pick(['$.tag', '"abcdef"'])} ${pick(['1', '2 4', '0 0', ''])}`;
    case 7:
      return `printf ${pick(['"%d %s" 1', '"x" 1 "y"', '"%!"', '"%z" 3', '"%"', '"100%%"', '"%[2]v %[1]v" 1 2', '"%6.2f|%t" 1.5 true', '"%v %v" $.list $.map'])}`;
    default:
      return leaf();
  }
}

function number(random: Random, depth: number): string {
  const { pick } = random;
  const leaf = () =>
    pick(['$.n', '$.big', '$.zero', '0', '42', '-3', '0x1F', "'a'", '0o17', '0b101', '1_000', '$.deep.inner.x']);
  if (depth <= 0) return leaf();
  return pick([
    leaf,
    () => `len ${pick(['$.s', '$.list', '$.map', '$.empty', '"é"', '$.blank'])}`,
    () => `index ${pick(['$.list 0', '$.list 2', '$.map "a"', '$.mixed 0', '$.deep "inner" "x"'])}`,
    () => '$.when.Year',
    () => pick(['$.when.Minute', '$.when.YearDay', '$.when.Month', '$.when.UTC.Hour', '$.when.Weekday']),
  ])();
}

function float({ pick }: Random): string {
  return pick(['$.f', '$.g', '$.h', '1.5', '1e3', '-0.25', '2.0', '.5', '1e-7', '123456.789', '2.675', '1e100']);
}

function bool(random: Random, depth: number, place: Place): string {
  const { pick } = random;
  if (depth <= 0) return pick(['$.yes', '$.no', 'true', 'false']);
  const sub = (make: Make) => argument(make, random, depth - 1, place);
  return pick([
    () => pick(['$.yes', '$.no']),
    () => `not ${sub(pick([bool, string, number, list]))}`,
    () => `${pick(['and', 'or'])} ${sub(pick([bool, string]))} ${sub(pick([bool, number, list]))}`,
    () => `${pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])} ${sub(number)} ${sub(number)}`,
    () => `${pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])} ${sub(string)} ${sub(string)}`,
    () => `${pick(['eq', 'lt'])} ${sub(float)} ${sub(pick([float, float, number]))}`,
    () => `eq ${sub(string)} ${sub(string)} $.tag`,
    () => 'eq $.nothing $.missing',
  ])();
}

function list({ pick }: Random, _depth: number, { variables }: Place): string {
  return pick([
    '$.list',
    '$.words',
    '$.mixed',
    '$.none',
    '$.map',
    '$.deep',
    '$.blank',
    '$.when',
    '$.missing',
    ...variables,
  ]);
}
