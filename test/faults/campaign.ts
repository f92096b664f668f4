import { describeCampaign } from './rig/describe-campaign.ts';
import { moreShapes, shapes } from './rig/shapes.ts';

/** What `npm run test:faults` runs: scripts/faults.mjs says what the variables hold. */
const { UPKEEP_CAMPAIGN: letter = 'A', UPKEEP_SHAPE: shape = '', UPKEEP_POINT: only, UPKEEP_REPORT } = process.env;

describeCampaign(letter, {
  shapes: [...shapes, ...moreShapes].filter(({ name }) => shape.split('\n').some((words) => name.includes(words))),
  only,
  reportFile: UPKEEP_REPORT,
});
