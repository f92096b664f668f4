import { describeForgeries } from '../rig/forgery/describe-forgeries.ts';
import { shapes } from '../rig/shapes.ts';

/** A few of those of campaign N, of which each seed is others. */
describeForgeries({ shapes, count: 12, seed: 1 });
