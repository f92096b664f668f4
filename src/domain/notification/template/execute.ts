import { assign, evaluatePipe, type State } from './evaluate.ts';
import { TemplateError } from './values/fault.ts';
import type { Sink } from './values/limits.ts';
import type { Branches, Node, RangeNode } from './syntax/nodes.ts';
import type { Tree } from './syntax/parse.ts';
import { print } from './format/print.ts';
import { isTrue, typeName } from './values/truth.ts';
import { isDictionary, isList, Struct, sortedEntries, type Value } from './values/value.ts';

/** The state of a walk, with its own variables and a shared output. */
export type Run = { readonly tree: Tree; readonly state: State; readonly out: Sink };

/** The jump that ended a list of nodes early. */
type Jump = 'break' | 'continue' | undefined;

/** Writes the output of the nodes. */
export function execute(run: Run, dot: Value, nodes: readonly Node[]): Jump {
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
