import { describeCampaign } from './rig/describe-campaign.ts';
import { shapes } from './rig/shapes.ts';

/** With `short`, for one engine of many: a shape that every engine has. */
const shortShape = 'always, a named and an anonymous volume';
const isShort = process.env['UPKEEP_FAULTS'] === 'short';

/** The short campaign: an update is killed at every call, before the engine has it and after it has answered. */
describeCampaign('A', {
  shapes: isShort ? shapes.filter(({ name }) => name === shortShape) : shapes,
  without: ['killed during'],
});
