import type { Moment } from '../time/moment.ts';
import type { Meter, Sink } from './limits.ts';

export type FunctionContext = { readonly meter: Meter; readonly now: Moment; readonly createSink: () => Sink };
