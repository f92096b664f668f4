import { isSampled } from '../support/sampled.ts';
import { dataShapes } from './rig/data-shapes.ts';
import { describeCampaign } from './rig/describe-campaign.ts';

/** With `short`, for one engine of many: a shape that every engine has. */
const shortShape = 'data: three places, without a policy, a bad version';
const isShort = process.env['UPKEEP_FAULTS'] === 'short';

/** The short campaign of updates that copy data. `npm test` draws one call in 24. */
describeCampaign('Q', {
  shapes: dataShapes.filter(({ name }) => !isShort || name === shortShape),
  atLeast: 1,
  wanted: ({ call, incident }) => isSampled(call.change, isShort ? 6 : 24) && incident.name === 'killed after',
});
