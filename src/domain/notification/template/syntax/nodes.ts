/** A parsed template: https://pkg.go.dev/text/template. Every `at` is an offset in the text. */
export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'action'; readonly pipe: Pipe; readonly at: number }
  | IfNode
  | WithNode
  | RangeNode
  | { readonly kind: 'call'; readonly name: string; readonly pipe: Pipe | undefined; readonly at: number }
  | { readonly kind: 'break'; readonly at: number }
  | { readonly kind: 'continue'; readonly at: number };

/** The first branch with a true value is rendered. */
type IfNode = { readonly kind: 'if'; readonly at: number } & Branches;
type WithNode = { readonly kind: 'with'; readonly at: number } & Branches;

export type Branches = {
  readonly branches: readonly Branch[];
  readonly otherwise: readonly Node[] | undefined;
};

type Branch = { readonly pipe: Pipe; readonly body: readonly Node[] };

export type RangeNode = {
  readonly kind: 'range';
  readonly pipe: Pipe;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[] | undefined;
  readonly at: number;
};

/** `declares`: names with their `$`; at most two, and two only in a range. */
export type Pipe = {
  readonly declares: readonly string[];
  readonly isAssignment: boolean;
  readonly commands: readonly Command[];
  readonly at: number;
};

export type Command = { readonly operands: readonly [Operand, ...Operand[]]; readonly at: number };

export type Operand =
  | { readonly kind: 'literal'; readonly value: string | bigint | number | boolean; readonly at: number }
  | { readonly kind: 'nil'; readonly at: number }
  | { readonly kind: 'dot'; readonly at: number }
  | { readonly kind: 'fields'; readonly fields: readonly string[]; readonly at: number }
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[]; readonly at: number }
  | { readonly kind: 'function'; readonly name: string; readonly at: number }
  | { readonly kind: 'pipe'; readonly pipe: Pipe; readonly at: number }
  | {
      readonly kind: 'chain';
      readonly start: Extract<Operand, { kind: 'function' | 'pipe' }>;
      readonly fields: readonly string[];
      readonly at: number;
    };
