import { describeCampaign } from './rig/describe-campaign.ts';
import { shapes } from './rig/shapes.ts';

/** With `short`, for one engine of many: the shapes that every engine has. */
const names = ['always, a named and an anonymous volume', 'on-failure, the new version ends at once'];
const isShort = process.env['UPKEEP_FAULTS'] === 'short';

/** The short campaign: an update is killed at every call, before the engine has it and after it has answered. */
describeCampaign('A', {
  shapes: isShort ? shapes.filter(({ name }) => names.includes(name)) : shapes,
  without: ['killed during'],
});
