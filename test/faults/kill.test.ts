import { describeCampaign } from './rig/describe-campaign.ts';
import { shapes } from './rig/shapes.ts';

/** The short campaign: an update is killed at every call, before the engine has it and after it has answered. */
describeCampaign('A', { shapes, without: ['killed during'] });
