import { describeRaces } from './rig/races/describe-races.ts';
import { shapes } from './rig/shapes.ts';

/** A few of the races of campaign G; each seed is another race. */
describeRaces({
  shapes: shapes.filter(({ name }) => name === 'always, a named and an anonymous volume'),
  rounds: 5,
  seed: 304,
  engines: 2,
});
