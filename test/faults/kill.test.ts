import { isSampled } from '../support/sampled.ts';
import { describeCampaign } from './rig/describe-campaign.ts';
import { isBehindHealthCheck } from './rig/points.ts';
import { shapes } from './rig/shapes.ts';

/** With `short`, for one engine of many: a shape that every engine has. */
const shortShape = 'always, a named and an anonymous volume';
const isShort = process.env['UPKEEP_FAULTS'] === 'short';

/**
 * The short campaign: kills an update after every answered call, and before a call if that leaves another state.
 * `npm test` draws one call in nine; `npm run test:faults -- --campaign A` has every point.
 */
describeCampaign('A', {
  shapes: isShort ? shapes.filter(({ name }) => name === shortShape) : shapes,
  atLeast: 1,
  wanted: ({ call, incident }) =>
    isSampled(call.change, 9) &&
    (incident.name === 'killed after' || (incident.name === 'killed before' && isBehindHealthCheck(call))),
});
