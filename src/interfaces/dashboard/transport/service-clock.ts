/** The time of the service. The clock of the browser may be wrong by hours. */
export type ServiceClock = {
  readonly nowMs: () => number;
  /** Takes the `Date` of a reply that has just arrived. */
  readonly hear: (date: string | null) => void;
};

export function createServiceClock(browserNowMs = Date.now): ServiceClock {
  let aheadMs = 0;
  return {
    nowMs: () => browserNowMs() + aheadMs,
    hear(date) {
      const difference = Date.parse(date ?? '') - browserNowMs();
      // The date has whole seconds and its way here takes time. Smaller steps would disturb counted seconds.
      if (Math.abs(difference - aheadMs) > toleratedMs) aheadMs = difference;
    },
  };
}

const toleratedMs = 5000;
