import type { Moment } from '../time/moment.ts';
import { TemplateError } from './fault.ts';

/** The limits of one rendering. */
export type RenderLimits = {
  /** Actions, iterations and calls; handling 8 characters of text counts as one more. */
  readonly steps: number;
  /** In UTF-16 units. Also applies to intermediate texts. */
  readonly outputLength: number;
  /** Depth of nested blocks, parentheses and templates. */
  readonly depth: number;
};

/** Enough for loops within loops over 500 containers. A template at every limit takes one to two seconds. */
export const defaultLimits: RenderLimits = { steps: 3_000_000, outputLength: 1_000_000, depth: 300 };

/** Counts the cost of a rendering, and ends it with a `TemplateError` at a limit. */
export type Meter = {
  readonly spend: (steps: number) => void;
  /** For a text that was read or written. */
  readonly handle: (length: number) => void;
  readonly enter: () => void;
  readonly leave: () => void;
};

export function createMeter({ steps, outputLength, depth }: RenderLimits): Meter {
  let left = steps;
  let level = 0;
  function spend(count: number): void {
    left -= count;
    if (left < 0) throw new TemplateError(`it takes more than ${steps} steps`);
  }
  return {
    spend,
    handle(length) {
      if (length > outputLength) throw new TemplateError(`a text in it is longer than ${outputLength} characters`);
      spend(length >> 3);
    },
    enter() {
      level += 1;
      if (level > depth) throw new TemplateError(`more than ${depth} blocks and templates are inside each other`);
    },
    leave() {
      level -= 1;
    },
  };
}

/** An output text that never grows beyond `longest`. */
export type Sink = { readonly write: (text: string) => void; readonly text: () => string };

export function createSink(meter: Meter, longest: number): Sink {
  const parts: string[] = [];
  let length = 0;
  return {
    write(text) {
      length += text.length;
      if (length > longest) throw new TemplateError(`its text is longer than ${longest} characters`);
      meter.spend(text.length >> 3);
      parts.push(text);
    },
    text: () => parts.join(''),
  };
}

/** The surroundings of a function of a template. */
export type FunctionContext = { readonly meter: Meter; readonly now: Moment; readonly createSink: () => Sink };
