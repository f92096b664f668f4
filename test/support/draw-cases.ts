import { createHash } from 'node:crypto';
import { configureGlobal } from 'fast-check';

/** A push draws its generated cases by its commit, like its files, so that `TEST_DRAW` repeats them too. */
const draw = process.env['TEST_DRAW'] ?? 'all';
if (draw !== 'all') configureGlobal({ seed: createHash('sha256').update(draw).digest().readInt32BE(0) });
