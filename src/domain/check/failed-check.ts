import { formatDuration } from '../text/duration.ts';
import { describeWithRemedy, type ErrorCode, ServiceError } from '../text/errors.ts';
import { formatPlatform, type Platform } from '../image/platform.ts';
import { holdOfFailure } from '../decision/decisions.ts';
import { type CheckSubject, unknownVerdict, type Verdict } from './verdict.ts';

/** The verdict on a failed request. `platform` is given if the request was for a platform's content. */
export function judgeFailure(
  subject: Pick<CheckSubject, 'image'> & Partial<CheckSubject>,
  error: unknown,
  platform?: Platform,
): Verdict {
  const known = error instanceof ServiceError ? error : undefined;
  return {
    ...unknownVerdict(explain(error, platform) + waitOf(error), subject, describeWithRemedy(error)),
    hold: holdOfFailure(known?.code),
    ...(known?.retryAfterMs !== undefined && { retryAfterMs: known.retryAfterMs }),
  };
}

const explanations: Partial<Record<ErrorCode, string>> = {
  'registry-denied':
    'The registry refuses access: the credentials are missing, wrong or expired, or there is no such image',
  'registry-not-found': 'The registry has no such image or tag',
  'registry-rate-limited': 'The registry limits requests',
  'registry-unreachable': 'The registry cannot be reached',
  'registry-invalid': 'The registry sent an invalid answer',
  timeout: 'The registry did not answer in time',
};

function explain(error: unknown, platform: Platform | undefined): string {
  if (!(error instanceof ServiceError)) return 'The check failed';
  if (error.code === 'registry-not-found' && platform !== undefined) {
    return `The tag has no image for ${formatPlatform(platform)}`;
  }
  return explanations[error.code] ?? 'The check failed';
}

function waitOf(error: unknown): string {
  const waitMs = error instanceof ServiceError ? error.retryAfterMs : undefined;
  return waitMs === undefined ? '' : `; it asks to wait ${formatDuration(waitMs)}`;
}
