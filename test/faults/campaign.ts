import { isPodman } from '../lab/engine/podman.ts';
import { describeCampaign } from './rig/describe-campaign.ts';
import { clockedShapes, describeClocks } from './rig/clocks/describe-clocks.ts';
import { describeDoors } from './rig/describe-doors.ts';
import { describeForgeries } from './rig/forgery/describe-forgeries.ts';
import { describePeople, peopledShapes } from './rig/people/describe-people.ts';
import { describeRaces, racedShapes } from './rig/races/describe-races.ts';
import { dataShapes } from './rig/data-shapes.ts';
import { moreShapes, shapes } from './rig/shapes.ts';
import { describeSoak } from './soak/describe-soak.ts';

/** The campaign of `npm run test:faults`; scripts/faults.mjs documents the variables. */
const { UPKEEP_CAMPAIGN: letter = 'A', UPKEEP_SHAPE: shape = '', UPKEEP_POINT: only, UPKEEP_REPORT } = process.env;
const { UPKEEP_ROUNDS: rounds = '200', UPKEEP_SEED: seed = '1', UPKEEP_EVERY: every = '1' } = process.env;
const { UPKEEP_FAKETIME: library = '' } = process.env;

/** The major version of Docker under test; 0 for Podman. Without a choice it is the installed one. */
const major = isPodman ? 0 : Number(/^docker-(\d+)/.exec(process.env['LAB_ENGINE'] ?? '')?.[1] ?? 20);

const words = shape.split('\n');
/** People also meet an update that copies data, if its shape is named. */
const others = [...shapes, ...moreShapes, ...(letter === 'M' && shape !== '' ? dataShapes : [])];
const scope = {
  shapes: (/^Q|^Z-sync/.test(letter) ? dataShapes : others)
    .filter(({ since = 0 }) => since <= major)
    .filter(({ name }) => words.some((each) => name.includes(each))),
  reportFile: UPKEEP_REPORT,
};

if (letter === 'G') {
  const raced = scope.shapes.filter(({ name }) => shape !== '' || racedShapes.includes(name));
  describeRaces({ ...scope, shapes: raced, rounds: Math.ceil(Number(rounds) / raced.length), seed: Number(seed) });
} else if (letter === 'K') {
  describeClocks({
    ...scope,
    shapes: scope.shapes.filter(({ name }) => shape !== '' || clockedShapes.includes(name)),
    only,
    library,
  });
} else if (letter === 'M') {
  describePeople({
    ...scope,
    shapes: scope.shapes.filter(({ name }) => shape !== '' || peopledShapes.includes(name)),
    only,
  });
} else if (letter === 'N') {
  describeForgeries({ ...scope, count: Number(rounds), seed: Number(seed) });
} else if (letter === 'P') {
  describeDoors({ only, reportFile: UPKEEP_REPORT, words });
} else if (letter === 'L') {
  describeSoak({ count: Number(rounds), seed: Number(seed), words, reportFile: UPKEEP_REPORT });
} else {
  describeCampaign(letter, {
    ...scope,
    only,
    ...(Number(every) > 1 && { wanted: ({ call }) => call.change % Number(every) === Number(seed) % Number(every) }),
  });
}
