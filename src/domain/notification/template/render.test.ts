import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultLimits, Struct, type Value } from './values.ts';
import { parseTemplate, renderTemplate } from './render.ts';
import { Moment } from './time.ts';

const entry = new Struct(
  'log entry',
  { Message: 'Found new image', Data: new Map([['image', 'nginx']]) },
  { text: 'Found' },
);
const root = new Struct(
  'message',
  { Title: 'Updates', Host: 'h1', Entries: [entry], Report: null, Time: new Moment(0, 'UTC') },
  { elements: [entry] },
);

function render(template: string, data: Value = root): string {
  const parsed = parseTemplate(template);
  if (parsed.kind === 'failed') return parsed.reason;
  const result = renderTemplate(parsed.template, data, { now: new Moment(0, 'Europe/Berlin') });
  return result.kind === 'text' ? result.text : result.reason;
}

describe('renderTemplate() is kinder than Go', () => {
  test.each([
    ['a field of nothing is nothing', '{{.Report.Updated}}', '<no value>'],
    ['nothing has no elements', '{{range .Report.Updated}}x{{else}}none{{end}}', 'none'],
    ['nothing has length 0', '{{gt (len .Report.Updated) 0}}', 'false'],
    ['a range over the whole message goes over its entries', '{{range .}}{{.Message}}{{end}}', 'Found new image'],
    ['an entry prints its message', '{{index .Entries 0}}', 'Found'],
    ['a string has a short form too', '{{"sha256:0123456789abcdef".ShortID}}', undefined],
  ])('%s', (_, template, expected) => {
    if (expected === undefined) expect(render(template)).toContain('Cannot render');
    else expect(render(template)).toBe(expected);
  });
});

describe('renderTemplate() knows what Go has learned since 1.19', () => {
  test('range over an int, and else with', () => {
    expect(render('{{range 3}}{{.}}{{end}}{{range $i := 2}}[{{$i}}]{{else}}x{{end}}')).toBe('012[0][1]');
    expect(render('{{with .Report}}a{{else with .Host}}{{.}}{{else}}c{{end}}')).toBe('h1');
  });
});

describe('functions that other tools have', () => {
  test.each([
    [
      '{{replace "n" "N" "nginx"}} {{"a-b-c" | replace "-" "/"}} {{replace "" "x" "ab"}}',
      'Ngix a/b/c ab'.replace('Ngix', 'NgiNx'),
    ],
    ['{{join ", " (split "-" "a-b")}} {{split "-" "a-b" | join "+"}} {{join (split "," "a,b") ";"}}', 'a, b a+b a;b'],
    ['{{contains "gin" "nginx"}} {{contains "x" "abc"}}', 'true false'],
    ['{{default "none" .Report}} {{.Host | default "none"}}', 'none h1'],
    ['{{now.Format "2006-01-02 15:04 MST"}}', '1970-01-01 01:00 CET'],
    ['{{Title "hello wORLD don\'t"}}', "Hello World Don't"],
    [
      '{{RFC1123 "2026-11-22T06:00:13+01:00"}}|{{RFC1123 "2026-11-22T06:00:13Z"}}|{{RFC1123 "soon"}}',
      'Sun, 22 Nov 2026 06:00:13 CET|Sun, 22 Nov 2026 06:00:13 UTC|soon',
    ],
    ['{{ToPorcelainJSON .Report}}', '{\n  "containers": []\n}'],
  ])('%s', (template, expected) => {
    expect(render(template)).toBe(expected);
  });
});

describe('what is easily got wrong is as Go has it', () => {
  const list = [7n, 8n, 9n, 10n];
  test.each([
    ['{{$x := 1}}{{if 1}}{{$x := 2}}{{$x}}{{end}}{{$x}}', '21'],
    ['{{$x := 1}}{{with $x := 5}}{{$x = 6}}{{$x}}{{end}}{{$x}}', '61'],
    ['{{$x := 0}}{{range $i, $e := .}}{{$x := $i}}{{end}}{{$x}}{{range .}}{{$x = .}}{{end}}{{$x}}', '010'],
    ['{{range .}}{{$y := .}}{{end}}{{range .}}{{$y := .}}{{end}}', ''],
    ['{{define "t"}}{{$}}{{end}}{{$x := 1}}{{template "t" 5}}{{template "t"}}{{$x}}', '5<no value>1'],
    ['{{block "b" 3}}[{{.}}{{$}}]{{end}}{{template "b" 4}}', '[33][44]'],
    ['{{range $i, $e := .}}{{if eq $i 1}}{{continue}}{{end}}{{$e}}{{if eq $i 2}}{{break}}{{end}},{{end}}', '7,9'],
    ['a \t\r\n {{- 1 -}} \n b {{- /* x */ -}} c{{-3}}', 'a1bc-3'],
    [
      String.raw`{{"\x41\101\u00e9\xc3\xa9\n" | printf "%q"}} {{'\''}} {{1e3 | printf "%v"}} {{-0x1F}} {{017}}`,
      String.raw`"AAéé\n" 39 1000 -31 15`,
    ],
  ])('%s', (template, expected) => {
    expect(render(template, list)).toBe(expected);
  });
});

test('a float has the digits that JavaScript gives it', () => {
  const template =
    '{{printf "%.0f %.1f %.2f %.3g %.2e %g %v" 2.5 0.25 2.675 0.00012345 12345.0 100000.0 1e300}} {{1e6}}';
  expect(render(template)).toBe('3 0.3 2.67 0.000123 1.23e+04 100000 1e+300 1000000');
});

describe('times have the names of their zones, or their offsets', () => {
  test.each([
    ['UTC', 'UTC UTC'],
    ['Europe/Berlin', 'CET CEST'],
    ['Europe/London', 'GMT BST'],
    ['Europe/Dublin', 'GMT IST'],
    ['Europe/Moscow', '+03 +03'],
    ['America/New_York', 'EST EDT'],
    ['America/Sao_Paulo', '-03 -03'],
    ['America/St_Johns', 'NST NDT'],
    ['Asia/Kolkata', 'IST IST'],
    ['Asia/Kathmandu', '+0545 +0545'],
    ['Asia/Shanghai', '+08 +08'],
    ['Asia/Tokyo', 'JST JST'],
    ['Australia/Sydney', 'AEDT AEST'],
    ['Australia/Lord_Howe', 'LHDT LHST'],
    ['Pacific/Auckland', 'NZDT NZST'],
    ['Africa/Johannesburg', 'SAST SAST'],
  ])('%s: %s', (zone, names) => {
    const times = [0, 6].map((month) => new Moment(Date.UTC(2026, month, 15, 12), zone));
    expect(render('{{range $i, $t := .}}{{if $i}} {{end}}{{.Format "MST"}}{{end}}', times)).toBe(names);
  });
});

describe('a failure names the place and the remedy', () => {
  test.each([
    ['{{.Hostname}}', 'line 1, column 3: there is no .Hostname in a message; did you mean .Host?'],
    [
      'a\n  {{range .Entries}}\n{{.Mesage}}{{end}}',
      'line 3, column 3: there is no .Mesage in a log entry; did you mean .Message?',
    ],
    ['{{ToUper "a"}}', 'line 1, column 3: there is no function "ToUper"; did you mean "ToUpper"?'],
    ['{{env "HOME"}}', 'line 1, column 3: there is no function "env"'],
    ['{{if .Host}}', 'line 1, column 1: this block has no end'],
    ['{{end}}', 'line 1, column 1: this end belongs to nothing'],
    ['{{.Host', 'line 1, column 1: the action has no end'],
    ['{{"abc}}', 'line 1, column 3: the string has no end'],
    ['{{/* x }}', 'line 1, column 3: the comment has no end'],
    ['{{$x}}', 'line 1, column 3: the variable $x is not declared'],
    ['{{len 3}}', 'line 1, column 3: a int has no length'],
    ['{{ToUpper 3}}', 'line 1, column 3: ToUpper takes a string, not a int'],
    ['{{index .Entries 9}}', 'line 1, column 3: the place 9 is out of range'],
    ['{{eq 1 "a"}}', 'line 1, column 3: a int cannot be compared with a string'],
    ['{{template "nope"}}', 'line 1, column 1: the template "nope" is not defined'],
    ['é{{break}}', 'line 1, column 2: break is only for a range'],
    ['{{.Time.Format}}', 'line 1, column 3: .Format takes 1 arguments, not 0'],
  ])('%s', (template, expected) => {
    expect(render(template)).toBe(`Cannot render the template: ${expected}`);
  });

  test('no property of a JavaScript object is reachable', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'length', 'fields', 'forms', 'hasOwnProperty']) {
      for (const start of ['', '.Entries', '.Host', '.Time', '(index .Entries 0)', '(index .Entries 0).Data']) {
        expect(render(`{{${start}.${name}}}`)).toMatch(/^Cannot render|^<no value>$/);
      }
      expect(render(`{{${name} .}}`)).toMatch(/^Cannot render/);
    }
  });
});

describe('a hostile template', () => {
  const nested = '{{range $.Entries}}'.repeat(90) + '{{end}}'.repeat(90);
  const double = '{{$x := "aaaaaaaaaaaaaaaa"}}{{range 64}}{{$x = print $x $x}}{{end}}{{len $x}}';
  test.each([
    ['an endless range', '{{range 1000000000000}}{{end}}', 'steps'],
    ['ranges in ranges', '{{range 10000}}{{range 10000}}{{range 10000}}{{end}}{{end}}{{end}}', 'steps'],
    ['a long list of arguments', `{{range 100000}}{{$x := or ${'0 '.repeat(1000)}}}{{end}}`, 'steps'],
    ['a template that calls itself', '{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}', 'inside each other'],
    ['a text that doubles itself', double, 'longer than'],
    ['a long output', '{{range 100000}}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{end}}', 'longer than'],
    ['a wide number', '{{range 1000}}{{printf "%999999d" 1}}{{end}}', 'longer than'],
    ['a replacement that explodes', '{{$a := printf "%99999d" 1}}{{replace " " $a $a}}', 'longer than'],
    ['a join that explodes', '{{$a := printf "%99999d" 1}}{{join $a (split "" $a)}}', 'longer than'],
    ['parentheses in parentheses', `{{${'('.repeat(1000)}1${')'.repeat(1000)}}}`, 'inside each other'],
    ['blocks in blocks', '{{if 1}}'.repeat(5000), 'inside each other'],
    ['a long text', 'x'.repeat(65_537), 'longer than 65536 characters'],
    ['long layouts of times', `{{range 1000000}}{{$x := now.Format "${'MST'.repeat(5000)}"}}{{end}}`, 'steps'],
  ])('ends at a limit: %s', (_, template, limit) => {
    expect(render(template)).toMatch(new RegExp(`^Cannot render the template: .*${limit}`));
  });

  test('that is merely big is rendered', () => {
    expect(render(nested)).toBe('');
    expect(render(`{{if 0}}${'{{else if 0}}'.repeat(4000)}{{else}}x{{end}}`)).toBe('x');
    expect(render('{{range 100000}}x{{end}}')).toHaveLength(100_000);
  });

  test('never makes the parser throw, whatever it is made of', () => {
    const pieces = fc.constantFrom(
      '{{',
      '}}',
      '{{-',
      '-}}',
      ' ',
      '\n',
      '.',
      '.A',
      '$',
      '$x',
      ':=',
      '=',
      ',',
      '|',
      '(',
      ')',
      '"',
      '`',
      "'a'",
      '\\',
      '1',
      '0x',
      '1e',
      '-',
      '/*',
      '*/',
      'if',
      'else',
      'end',
      'range',
      'with',
      'define',
      '"n"',
      'template',
      'block',
      'break',
      'printf',
      'len',
      'nil',
      'true',
      'é',
      '\u0000',
      '\ud800',
    );
    const templates = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(templates, (template) => {
        const parsed = parseTemplate(template);
        if (parsed.kind === 'failed')
          return /^Cannot render the template: line \d+, column \d+: ./s.test(parsed.reason);
        const result = renderTemplate(parsed.template, root);
        return result.kind === 'text' || /^Cannot render the template: line \d+, column \d+: ./s.test(result.reason);
      }),
      { numRuns: 2000 },
    );
  });

  test('stays within the limits that are given', () => {
    const body = fc.constantFrom(
      '{{range 9}}',
      '{{end}}',
      '{{if 1}}',
      'xyz',
      '{{printf "%9d" 1}}',
      '{{print . .}}',
      '{{template "t" .}}',
    );
    const limits = fc.record({ steps: fc.nat(500), outputLength: fc.nat(200), depth: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(fc.array(body, { maxLength: 12 }), limits, (parts, bounds) => {
        const open = parts.filter((part) => /range|if/.test(part)).length;
        const parsed = parseTemplate(`{{define "t"}}{{.}}{{end}}${parts.join('')}${'{{end}}'.repeat(open)}`);
        if (parsed.kind === 'failed') return true;
        const result = renderTemplate(parsed.template, 'data', { limits: bounds });
        return result.kind === 'failed' || result.text.length <= bounds.outputLength;
      }),
    );
  });

  test('with every text that a value can be printed as is escaped for JSON so that JSON.parse reads it', () => {
    const values = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(fc.string({ unit: 'binary' }), fc.boolean()));
    fc.assert(
      fc.property(values, (record) => {
        const text = render('{{ToJSON .}}', new Map(Object.entries(record)));
        return Object.keys(JSON.parse(text) as object).length === Object.keys(record).length;
      }),
    );
  });
});

test('defaultLimits leave room for 500 containers in loops within loops', () => {
  const containers = Array.from({ length: 500 }, (_, index) => new Struct('container', { Name: `name-${index}` }));
  const template = '{{range $}}{{range $}}{{if eq .Name "name-3"}}x{{end}}{{end}}{{end}}';
  expect(render(template, containers)).toBe('x'.repeat(500));
  expect(render('{{range .}}- {{.Name}}: {{ToUpper .Name}}{{println}}{{end}}', containers)).toContain('NAME-499');
  expect(defaultLimits.steps).toBe(3_000_000);
});
