import {
  describeFault,
  TemplateError,
  createMeter,
  createSink,
  defaultLimits,
  isTrue,
  typeName,
  isDictionary,
  isList,
  Struct,
  sortedEntries,
  member,
  type RenderLimits,
  type Value,
  type Sink,
  type FunctionContext,
  type Meter,
} from './values.ts';
import { functionNames, templateFunctions, type TemplateFunction } from './functions.ts';
import {
  parseTree,
  type Tree,
  type Branches,
  type Node,
  type RangeNode,
  type Command,
  type Operand,
  type Pipe,
} from './parse.ts';
import { Moment } from './time.ts';
import { print } from './format.ts';

/** A parsed template, for `renderTemplate`. */
export type Template = { readonly text: string; readonly tree: Tree };

/** `reason`: a sentence for users with line and column. */
type TemplateFailure = { readonly kind: 'failed'; readonly reason: string };

type RenderOptions = {
  readonly limits?: RenderLimits;
  /** The time of `now`, and the zone of times; absent: Go's zero time, UTC. */
  readonly now?: Moment;
};

/** In UTF-16 units. Templates in use have fewer than 4000. */
const maxTemplateLength = 65_536;

/** Parses a template in the subset of https://pkg.go.dev/text/template that `docs/notification-templates.md` describes. */
export function parseTemplate(
  text: string,
): { readonly kind: 'template'; readonly template: Template } | TemplateFailure {
  if (text.length > maxTemplateLength) {
    return { kind: 'failed', reason: `Cannot render the template: it is longer than ${maxTemplateLength} characters` };
  }
  try {
    return { kind: 'template', template: { text, tree: parseTree(text, functionNames) } };
  } catch (error) {
    return failure(text, error, 0);
  }
}

/** Renders the template with data. An error shows only the types of the data. The limits bound its time. */
export function renderTemplate(
  { text, tree }: Template,
  data: Value,
  { limits = defaultLimits, now = zeroMoment }: RenderOptions = {},
): { readonly kind: 'text'; readonly text: string } | TemplateFailure {
  const meter = createMeter(limits);
  const out = createSink(meter, limits.outputLength);
  const context = { meter, now, createSink: () => createSink(meter, limits.outputLength) };
  const state = { at: 0, variables: [{ name: '$', value: data }], meter, context };
  try {
    execute({ tree, state, out }, data, tree.main);
    return { kind: 'text', text: out.text() };
  } catch (error) {
    return failure(text, error, state.at);
  }
}

const zeroMoment = new Moment(0, 'UTC');

/** Only faults of the template are reported. Any other error is a bug. */
function failure(text: string, error: unknown, at: number): TemplateFailure {
  if (!(error instanceof TemplateError)) throw error;
  return {
    kind: 'failed',
    reason: `Cannot render the template: ${describeFault(text, error.at ?? at, error.message)}`,
  };
}

/** The state of a walk, with its own variables and a shared output. */
type Run = { readonly tree: Tree; readonly state: State; readonly out: Sink };

/** The jump that ended a list of nodes early. */
type Jump = 'break' | 'continue' | undefined;

/** Writes the output of the nodes. */
function execute(run: Run, dot: Value, nodes: readonly Node[]): Jump {
  for (const node of nodes) {
    run.state.at = node.at;
    run.state.meter.spend(1);
    const jump = executeNode(run, dot, node);
    if (jump !== undefined) return jump;
  }
  return undefined;
}

function executeNode(run: Run, dot: Value, node: Node): Jump {
  switch (node.kind) {
    case 'text':
      run.out.write(node.text);
      return undefined;
    case 'action': {
      const value = evaluatePipe(run.state, dot, node.pipe);
      run.state.at = node.at;
      if (node.pipe.declares.length === 0) run.out.write(print([value], run.state.context, '<no value>'));
      return undefined;
    }
    case 'if':
    case 'with':
      return inside(run, () => executeBranches(run, dot, node, node.kind === 'with'));
    case 'range':
      inside(run, () => executeRange(run, dot, node));
      return undefined;
    case 'call':
      executeCall(run, dot, node);
      return undefined;
    case 'break':
    case 'continue':
      return node.kind;
  }
}

/** Enters a scope; variables declared in it end with it. */
function inside(run: Run, walk: () => Jump): Jump {
  const { meter, variables } = run.state;
  const known = variables.length;
  meter.enter();
  const jump = walk();
  meter.leave();
  variables.length = known;
  return jump;
}

function executeBranches(run: Run, dot: Value, { branches, otherwise }: Branches, isWith: boolean): Jump {
  for (const { pipe, body } of branches) {
    const value = evaluatePipe(run.state, dot, pipe);
    if (isTrue(value)) return execute(run, isWith ? value : dot, body);
  }
  return otherwise === undefined ? undefined : execute(run, dot, otherwise);
}

function executeRange(run: Run, dot: Value, { pipe, body, otherwise }: RangeNode): Jump {
  const { variables } = run.state;
  const known = variables.length;
  const over = evaluatePipe(run.state, dot, pipe);
  let isEmpty = true;
  for (const [index, element] of pairsOf(over)) {
    isEmpty = false;
    run.state.meter.spend(1);
    variables.length = known;
    const values = pipe.declares.length > 1 ? [index, element] : [element];
    for (const [place, name] of pipe.declares.entries()) {
      if (pipe.isAssignment) assign(run.state, name, values[place]);
      else variables.push({ name, value: values[place] });
    }
    if (execute(run, element, body) === 'break') return undefined;
  }
  if (!isEmpty) return undefined;
  return otherwise === undefined ? undefined : execute(run, dot, otherwise);
}

function* pairsOf(value: Value): Iterable<readonly [Value, Value]> {
  const list = isList(value) ? value : value instanceof Struct ? value.forms.elements : undefined;
  if (list !== undefined) {
    let index = 0n;
    for (const element of list) yield [index++, element];
  } else if (isDictionary(value)) yield* sortedEntries(value);
  else if (typeof value === 'bigint') {
    for (let index = 0n; index < value; index += 1n) yield [index, index];
  } else if (value !== undefined && value !== null) {
    throw new TemplateError(`range cannot go over a ${typeName(value)}`);
  }
}

function executeCall(run: Run, dot: Value, { name, pipe }: Extract<Node, { kind: 'call' }>): void {
  const body = run.tree.templates.get(name);
  if (body === undefined) throw new TemplateError(`the template "${name.slice(0, 40)}" is not defined`);
  const value = pipe === undefined ? undefined : evaluatePipe(run.state, dot, pipe);
  run.state.meter.enter();
  const own: State = { ...run.state, variables: [{ name: '$', value }] };
  try {
    execute({ ...run, state: own }, value, body);
  } finally {
    run.state.at = own.at;
  }
  run.state.meter.leave();
}

/** The state of a rendering. `at` is the position for an error; `variables` is a stack that begins with `$`. */
type State = {
  at: number;
  readonly variables: { name: string; value: Value }[];
  readonly meter: Meter;
  readonly context: FunctionContext;
};

/** The value of a pipeline. Its variables stay on the stack. */
function evaluatePipe(state: State, dot: Value, pipe: Pipe): Value {
  state.meter.enter();
  let value: Value;
  let piped: readonly Value[] = [];
  for (const command of pipe.commands) {
    value = evaluateCommand(state, dot, command, piped);
    piped = [value];
  }
  for (const name of pipe.declares) {
    if (pipe.isAssignment) assign(state, name, value);
    else state.variables.push({ name, value });
  }
  state.meter.leave();
  return value;
}

/** Sets the innermost variable of this name. */
function assign(state: State, name: string, value: Value): void {
  find(state, name).value = value;
}

/** The variable of the innermost scope with this name. The cost grows with the number of scopes searched. */
function find({ variables, meter }: State, name: string): State['variables'][number] {
  const place = variables.findLastIndex((known) => known.name === name);
  meter.spend((variables.length - place) >> 4);
  const variable = variables[place];
  if (variable === undefined) throw new TemplateError(`the variable ${name} is not declared here`);
  return variable;
}

/** `piped`: the value of the preceding command, which becomes the last argument. */
function evaluateCommand(state: State, dot: Value, command: Command, piped: readonly Value[]): Value {
  state.meter.spend(1);
  const [first, ...rest] = command.operands;
  const call = { dot, rest, piped };
  state.at = first.at;
  switch (first.kind) {
    case 'fields':
      return evaluateMembers(state, dot, first, first.fields, call);
    case 'variable':
      if (first.fields.length === 0) break;
      return evaluateMembers(state, evaluateOperand(state, dot, first, true), first, first.fields, call);
    case 'chain':
      return evaluateMembers(state, evaluateOperand(state, dot, first.start), first, first.fields, call);
    case 'function':
      return callFunction(state, dot, first, rest, piped);
    case 'nil':
      throw new TemplateError('nil alone is no value');
    default:
  }
  if (rest.length > 0 || piped.length > 0) throw new TemplateError('only functions and methods take arguments');
  return evaluateOperand(state, dot, first);
}

type Call = { readonly dot: Value; readonly rest: readonly Operand[]; readonly piped: readonly Value[] };

/** `.A.B.C x`: the arguments belong to the last member. */
function evaluateMembers(state: State, start: Value, { at }: Operand, fields: readonly string[], call: Call): Value {
  let value = start;
  for (const field of fields.slice(0, -1)) value = readMember(state, value, field, []);
  const args = [...call.rest.map((operand) => evaluateOperand(state, call.dot, operand)), ...call.piped];
  state.at = at;
  return readMember(state, value, fields.at(-1) ?? '', args);
}

function readMember({ meter }: State, value: Value, name: string, args: readonly Value[]): Value {
  meter.spend(value instanceof Moment ? 20 : 1);
  for (const arg of args) if (typeof arg === 'string') meter.spend(arg.length);
  const result = member(value, name, args);
  if (args.length > 0 && typeof result === 'string') meter.handle(result.length);
  return result;
}

/** `isBare`: a variable without field access. */
function evaluateOperand(state: State, dot: Value, operand: Operand, isBare = false): Value {
  state.at = operand.at;
  state.meter.spend(1);
  switch (operand.kind) {
    case 'literal':
      return operand.value;
    case 'nil':
      return undefined;
    case 'dot':
      return dot;
    case 'fields':
      return evaluateMembers(state, dot, operand, operand.fields, alone);
    case 'variable': {
      const { value } = find(state, operand.name);
      return isBare || operand.fields.length === 0
        ? value
        : evaluateMembers(state, value, operand, operand.fields, alone);
    }
    case 'pipe':
      return evaluatePipe(state, dot, operand.pipe);
    case 'function':
      return callFunction(state, dot, operand, [], []);
    case 'chain':
      return evaluateMembers(state, evaluateOperand(state, dot, operand.start), operand, operand.fields, alone);
  }
}

const alone: Call = { dot: undefined, rest: [], piped: [] };

type FunctionOperand = Extract<Operand, { kind: 'function' }>;

function callFunction(
  state: State,
  dot: Value,
  { name, at }: FunctionOperand,
  rest: readonly Operand[],
  piped: readonly Value[],
): Value {
  const known = templateFunctions.get(name);
  if (known === undefined) throw new TemplateError(`there is no function "${name}"`);
  checkCount(name, known, rest.length + piped.length);
  if (known.shortCircuit !== undefined) return decide(state, dot, known.shortCircuit, rest, piped);
  const args = [...rest.map((operand) => evaluateOperand(state, dot, operand)), ...piped];
  state.at = at;
  for (const arg of args) if (typeof arg === 'string') state.meter.spend(arg.length >> 3);
  const result = known.call(args, state.context);
  if (typeof result === 'string') state.meter.handle(result.length);
  else if (isList(result)) state.meter.spend(result.length >> 3);
  return result;
}

function checkCount(name: string, { least, most }: TemplateFunction, count: number): void {
  if (count >= least && count <= most) return;
  const wanted = least === most ? String(least) : most === Infinity ? `at least ${least}` : `${least} to ${most}`;
  throw new TemplateError(`${name} takes ${wanted} arguments, not ${count}`);
}

/** `and` stops at the first false value, `or` at the first true one. Both return that value, not a bool. */
function decide(state: State, dot: Value, stopsAt: boolean, rest: readonly Operand[], piped: readonly Value[]): Value {
  let value: Value;
  for (const operand of rest) {
    value = evaluateOperand(state, dot, operand);
    if (isTrue(value) === stopsAt) return value;
  }
  return piped.length > 0 ? piped[0] : value;
}
