import { TemplateError } from './values/fault.ts';
import { type TemplateFunction, templateFunctions } from './functions/table.ts';
import type { FunctionContext, Meter } from './values/limits.ts';
import type { Command, Operand, Pipe } from './syntax/nodes.ts';
import { member } from './values/member.ts';
import { isTrue } from './values/truth.ts';
import { Moment } from './time/moment.ts';
import { isList, type Value } from './values/value.ts';

/** The state of a rendering. `at` is the position for an error; `variables` is a stack that begins with `$`. */
export type State = {
  at: number;
  readonly variables: { name: string; value: Value }[];
  readonly meter: Meter;
  readonly context: FunctionContext;
};

/** The value of a pipeline. Its variables stay on the stack. */
export function evaluatePipe(state: State, dot: Value, pipe: Pipe): Value {
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
export function assign(state: State, name: string, value: Value): void {
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
