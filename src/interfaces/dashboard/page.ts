import { createActions } from './actions.ts';
import { paintAddress, paintEngines, readEndpointGroups, startControls, startKeyboard } from './controls.ts';
import { createEventHandler } from './event-handler.ts';
import { type Address, readAddress, writeAddress } from './state/address.ts';
import { createContainerStore, type StoreChanges } from './state/containers/container-store.ts';
import { duration } from './state/words.ts';
import { createClient, createServiceClock, createTokens } from './transport/client.ts';
import { type Connection, type ConnectionState, startConnection } from './transport/connection.ts';
import { createReader } from './transport/reader.ts';
import { createSession } from './transport/session.ts';
import { openSharedReader } from './transport/shared-reader.ts';
import { arrangeContainers } from './state/display/arrange.ts';
import { paintSummary, pressCounts, paintConnectionState } from './view/summary.ts';
import type { PageContext } from './view/context.ts';
import { paintDrawer } from './view/drawer.ts';
import { paintHistory } from './view/pages/history.ts';
import { paintSettings, paintSessions, paintTokens, paintWho, showSignIn, startSignIn } from './view/pages/settings.ts';
import { paintBulk, endSkeleton, paintSkeleton } from './view/table/groups.ts';
import { paintEmpty, paintGroupOff } from './view/table/empty.ts';
import { createTable } from './view/table/table.ts';

/** Builds the page and starts it. After that, only answers of the API, events and people change it. */
export function startPage(): void {
  const isServed = readEndpointGroups();
  const tokens = createTokens();
  const { nowMs, hear: hearDate } = createServiceClock();
  const shared = openSharedReader();
  const ask = createClient(tokens, shared.get, hearDate);
  const session = createSession(ask, tokens, shared.forget);
  const isOn = (group: string): boolean => isServed(group) && (group !== 'config' || isAdmin());
  const containers = createContainerStore();
  let address = readAddress(location.hash);
  let state: ConnectionState = 'connecting';
  let link: Connection | undefined;
  let isBuilt = false;
  let nextTryMs = 0;
  let sessionsShown = false;

  const reader = createReader({ ask, isOn, isFollowing: () => state === 'live', containers, nowMs, onRead });
  const acts = createActions({
    ask,
    containers,
    context: () => context,
    refresh: () => hearing.refresh(),
    onAsked: paintRun,
  });
  const context: PageContext = {
    ...reader,
    containers,
    nowMs,
    isOn: (group) => isOn(group) && (!changing.has(group) || session.who().role !== 'viewer'),
    address: () => address,
    go,
    link: () => state,
    picked: new Set(),
    act: { ...acts, pick, clearPicked, tryNow: () => (state === 'live' ? hearing.refresh() : link?.tryNow()) },
  };
  const table = createTable(context, paintAnswerSoon);
  const hearing = createEventHandler({
    context,
    table,
    reader,
    onRefused: refused,
    onIntercepted: () => link?.lost(),
    paintAnswerSoon,
    paintOpen: () => paintDrawer(context),
    paintRun,
    paintPages,
  });

  startControls({ context, table, arrange, signOut: () => void signOut() });
  startKeyboard(context, table);
  startSignIn(signIn);
  addEventListener('hashchange', () => {
    address = readAddress(location.hash);
    show(true);
  });
  if (!isOn('containers')) return paintGroupOff();
  paintSkeleton();
  void start();

  async function start(): Promise<void> {
    const state = tokens.api() === '' ? await session.read() : undefined;
    if (state?.isSignedIn === false) showSignIn(true, state);
    else begin();
  }

  function isAdmin(): boolean {
    const { role, isLimited } = session.who();
    return role === 'admin' && !isLimited;
  }

  function begin(): void {
    showSignIn(false);
    paintWho(session.who());
    show(false);
    link = startConnection({
      follow: (signal, listener) =>
        shared.follow({ token: tokens.api(), since: reader.lastEventId() }, signal, listener),
      mayFollow: () => isOn('events') && containers.status().readsEvents,
      read: reader.read,
      retryAfterMs: reader.retryAfterMs,
      onState: (next, waitMs = 0) => {
        state = next;
        nextTryMs = waitMs;
        paintState();
      },
      onEvent: hearing.onEvent,
      onRefused: refused,
    });
    // The first view needs neither history nor options. A page that is loaded again and again does not ask for them.
    setTimeout(() => void hearing.readPages(), address.page === 'containers' && address.open === '' ? pagesAfterMs : 0);
  }

  async function signIn(secret: string, isKept: boolean): Promise<string> {
    const why = await session.signIn(secret, isKept, async () => (await reader.read()) !== 'refused');
    if (why !== '') return why;
    if (tokens.api() === '') await session.read();
    begin();
    return why;
  }

  /** The session was ended elsewhere, or its token is not valid any more. */
  function refused(): void {
    link?.stop();
    tokens.forget();
    shared.forget();
    state = 'connecting';
    paintState();
    void session.read().then((found) => showSignIn(true, { ...found, why: isBuilt ? 'You are signed out.' : '' }));
  }

  async function signOut(): Promise<void> {
    link?.stop();
    const goTo = await session.signOut();
    // Both drop all data of the session.
    if (/^https?:/.test(goTo)) location.assign(goTo);
    else location.reload();
  }

  function onRead({ changed, removed }: StoreChanges): void {
    if (!isBuilt) {
      if (containers.all().length === 0 && context.engineError() !== undefined) return paintState();
      isBuilt = true;
      endSkeleton();
      table.clear();
      arrange();
      performance.measure('rows', 'data');
      show(false);
    } else table.paint(changed);
    for (const name of removed) context.picked.delete(name);
    paintEngines(context);
    paintState();
  }

  function paintState(): void {
    paintConnectionState(context, { awayWhy: reader.awayWhy(), hint: hintOf() });
    if (!isBuilt) return;
    table.paintAll();
    arrange();
    paintEmpty(containers);
    paintBulk(context);
    paintDrawer(context);
    paintPages();
  }

  /** Headings, counters and places of rows, all from one computation. */
  function arrange(): void {
    arrangedAtMs = performance.now();
    const arrangement = arrangeContainers(containers, address.group, nowMs());
    table.arrange(arrangement);
    paintSummary(context, arrangement.counts);
  }

  function hintOf(): string {
    if (state === 'offline' || state === 'reconnecting') return `Next try in ${duration(nextTryMs)}`;
    if (state !== 'polling') return '';
    return isOn('events')
      ? 'This token is not valid for the events'
      : 'The group events is off: add it to http-api-endpoints for live updates';
  }

  /** A run has begun or ended, so actions become locked or free. */
  function paintRun(): void {
    table.paintAll();
    arrange();
    paintBulk(context);
    paintDrawer(context);
  }

  function paintPages(): void {
    if (address.page === 'history') paintHistory(context);
    if (address.page === 'settings') paintSettings(context);
  }

  /** Asked for when the tab is opened, not while it is painted again. */
  function paintBrowsers(): void {
    const isShown = address.page === 'settings';
    if (isShown && !sessionsShown && isAdmin()) {
      void paintSessions(session, nowMs);
      void paintTokens(session);
    }
    sessionsShown = isShown;
  }

  let isDue = false;
  let arrangedAtMs = -arrangeEveryMs;
  function paintAnswerSoon(): void {
    if (isDue) return;
    isDue = true;
    const waitMs = arrangedAtMs + arrangeEveryMs - performance.now();
    if (waitMs <= 0) requestAnimationFrame(paint);
    else setTimeout(() => requestAnimationFrame(paint), waitMs);
    function paint(): void {
      isDue = false;
      if (isBuilt) arrange();
    }
  }

  function go(change: Partial<Address>, asStep = false): void {
    const next = { ...address, ...change };
    if (asStep) {
      location.hash = writeAddress(next);
      return;
    }
    address = next;
    history.replaceState(null, '', writeAddress(next));
    show(false);
  }

  let grouped = address.group;
  function show(wantsFocus: boolean): void {
    paintAddress(address);
    paintPages();
    paintBrowsers();
    table.markOpen(address.page === 'containers' ? address.open : '');
    if (!isBuilt) return;
    pressCounts(context);
    if (grouped === address.group) table.filter();
    else {
      grouped = address.group;
      // All rows are made anew, so the name of the same container takes the focus.
      const focused = document.activeElement?.closest<HTMLElement>('tr.row')?.dataset['name'];
      table.clear();
      arrange();
      const row = focused === undefined ? undefined : table.rowOf(focused);
      row?.querySelector<HTMLElement>('.c-name a')?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: 'nearest' });
    }
    paintDrawer(context, wantsFocus);
  }

  function pick(name: string): void {
    if (!context.picked.delete(name)) context.picked.add(name);
    table.paint([name]);
    paintBulk(context);
  }

  function clearPicked(): void {
    const names = [...context.picked];
    context.picked.clear();
    table.paint(names);
    paintBulk(context);
  }
}

/** Groups whose buttons change something. */
const changing: ReadonlySet<string> = new Set(['check', 'update', 'decisions']);

/** A move of rows costs a layout of the table, so a flood of events moves them a few times a second. */
const arrangeEveryMs = 150;

/** Longer than the life of a page in a series of reloads. */
const pagesAfterMs = 1000;
