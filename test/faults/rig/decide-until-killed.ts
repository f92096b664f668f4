import { writeSync } from 'node:fs';
import { createRecordFile } from '../../../src/adapters/files/records/record-file.ts';
import type { Decision } from '../../../src/domain/decision/decision.ts';
import { compactRecords, type DecisionRecord } from '../../../src/domain/decision/decisions.ts';
import { readDecisionRecord } from '../../../src/domain/decision/read-record.ts';

/** Decides for five containers in turn, from a number on, and prints each number when its decision is kept. */
const [, , path = '', from = '0'] = process.argv;
const complain = (message: string, fields: object = {}) => {
  writeSync(2, `${message} ${JSON.stringify(fields)}\n`);
};
const store = createRecordFile<DecisionRecord>({
  ...{ path, what: 'decisions', version: 1, compact: compactRecords, compactFromBytes: 3000 },
  read: readDecisionRecord,
  log: { warn: complain },
});
await store.load();
for (let n = Number(from); ; n += 1) {
  const decision: Decision = {
    ...{ id: String(n), kind: 'approve', container: `c${n % 5}`, digest: `sha256:${'a'.repeat(64)}` },
    ...{ tag: undefined, by: 'command line', atMs: n, untilMs: undefined },
  };
  const answer = await store.append([{ kind: 'decided', decision }]);
  writeSync(1, `${n} ${answer}\n`);
}
