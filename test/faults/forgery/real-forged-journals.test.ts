import { describeForgeries } from '../rig/forgery/describe-forgeries.ts';
import { shapes } from '../rig/shapes.ts';

/** A few cases of campaign N; each seed has other ones. */
describeForgeries({ shapes, count: 12, seed: 1 });
