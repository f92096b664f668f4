import type { Configuration } from '../config/read/load.ts';

export type Command = Configuration & { readonly kind: 'command' };
