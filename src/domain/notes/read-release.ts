import { printable } from '../text/printable.ts';

/** A part of a line. Links are https only; texts have no control and no hidden characters. */
export type Span =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em'; readonly spans: readonly Span[] }
  | { readonly kind: 'link'; readonly href: string; readonly spans: readonly Span[] };

/** Release notes as a tree of plain data: nothing of their Markdown or HTML is left. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly spans: readonly Span[] }
  | { readonly kind: 'para'; readonly spans: readonly Span[] }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'quote'; readonly alert?: Alert; readonly blocks: readonly Block[] }
  | { readonly kind: 'rule' };

export const alerts = ['note', 'tip', 'important', 'warning', 'caution'] as const;

export type Alert = (typeof alerts)[number];

/**
 * The rule that found a sentence about breaking changes: a heading, a mark at an item, an alert, a sentence, or the title
 * of the release.
 */
export const breakingRules = ['heading', 'mark', 'alert', 'sentence', 'title'] as const;

type Breaking = { readonly text: string; readonly rule: (typeof breakingRules)[number] };

export type ReadRelease = {
  /** Without thanks, checksums and the like. */
  readonly blocks: readonly Block[];
  /** At most three, each with at most 200 characters. Empty is no promise: authors write as they like. */
  readonly breaking: readonly Breaking[];
  /** Whether they ask for attention, as with a heading "Migration", or refer to notes elsewhere. */
  readonly attention: boolean;
  /** The most telling lines, best first, each with at most 160 characters. */
  readonly points: readonly string[];
  /** They have no content of their own: nothing, a link, or "see elsewhere". */
  readonly isEmpty: boolean;
};

/** Judges the notes of one release. The sentences are found by their form, in English; a help, not a guarantee. */
export function readRelease(title: string, tree: readonly Block[]): ReadRelease {
  const blocks = withoutThanks(tree);
  const sections = sectionsOf(blocks);
  const breaking = breakingIn(title, sections).slice(0, maxHits);
  const lines = sections.flatMap(({ body }) => linesOf(body));
  const isEmpty = !hasContent(blocks);
  return {
    blocks,
    breaking,
    attention: isElsewhere(lines) || sections.some((one) => needsAttention.test(plainStart(one.title)) && hasBody(one)),
    points: pointsOf(breaking, sections),
    isEmpty,
  };
}

const maxHits = 3;
const maxHit = 200;
const maxPoint = 160;

/** The text of spans, with a line break where the source has one. */
export function textOf(spans: readonly Span[]): string {
  return spans.map((span) => ('text' in span ? span.text : textOf(span.spans))).join('');
}

type Section = {
  readonly title: string;
  /** 7 for a bold line or one with a colon. */
  readonly level: number;
  /** The title leads to another page. */
  readonly hasLink: boolean;
  /** Up to the next heading of any level. */
  readonly body: readonly Block[];
  /** The headings behind it belong to it while their level is higher. */
  readonly under: readonly Section[];
};

function sectionsOf(blocks: readonly Block[]): readonly Section[] {
  const flat: (Title & { body: Block[] })[] = [{ title: '', level: 0, hasLink: false, body: [] }];
  for (const block of blocks) {
    const title = titleIn(block);
    if (title === undefined) flat.at(-1)?.body.push(block);
    else flat.push({ ...title, body: [] });
  }
  return flat.map((one, at) => {
    const behind = flat.slice(at + 1);
    const end = behind.findIndex(({ level }) => level <= one.level);
    const under = behind.slice(0, end < 0 ? undefined : end).map((inner) => ({ ...inner, under: [] }));
    return { ...one, under: one.level === 0 ? [] : under };
  });
}

type Title = Pick<Section, 'title' | 'level' | 'hasLink'>;

function leads(spans: readonly Span[]): boolean {
  return spans.some((span) => span.kind === 'link' || (span.kind === 'strong' && leads(span.spans)));
}

/** A heading, or a line that is used as one: all of it bold, or with a colon at its end. */
function titleIn(block: Block): Title | undefined {
  if (block.kind !== 'heading' && block.kind !== 'para') return undefined;
  const hasLink = leads(block.spans);
  if (block.kind === 'heading') return { title: textOf(block.spans), level: block.level, hasLink };
  const text = textOf(block.spans).trim();
  if (text === '' || text.length > maxTitle || text.includes('\n')) return undefined;
  const isBold = block.spans.every(
    (span) =>
      span.kind === 'strong' ||
      textOf([span])
        .trim()
        .replace(/^[:!]$/, '') === '',
  );
  return isBold || text.endsWith(':') ? { title: text, level: 7, hasLink } : undefined;
}

const maxTitle = 90;

function breakingIn(title: string, sections: readonly Section[]): readonly Breaking[] {
  const hits: Breaking[] = [];
  const add = (text: string, rule: Breaking['rule']) => {
    const shown = short(text, maxHit);
    if (shown !== '' && !hits.some((hit) => hit.text === shown)) hits.push({ text: shown, rule });
  };
  const inTitle = isBreakingTitle(title);
  const titled = sections.flatMap(({ body }) => titledItems(body));
  const heads = new Set(titled.map((one) => one.title));
  for (const section of [...sections, ...titled]) {
    if (isBreakingTitle(section.title) && (section.hasLink || hasBody(section)))
      for (const text of leadingItems(section)) add(text, 'heading');
    for (const { text, isMarked, isItem, hasLink, alert } of linesOf(section.body)) {
      // An item that heads others is judged with them.
      if (heads.has(text)) continue;
      const isLink = isItem && hasLink && onlyBreaking.test(plainStart(text)) && isBreakingTitle(text);
      const isBoom = isItem && boom.test(text);
      if ((isMarked && !saysNone(text)) || hasMark(text) || isLink || isBoom) add(withoutMark(text), 'mark');
      else if (
        alert !== undefined &&
        alert !== 'note' &&
        alert !== 'tip' &&
        asksForAction.test(text) &&
        !isNegated(text)
      )
        add(text, 'alert');
      else if (saysBreaking(text)) add(text, 'sentence');
    }
  }
  if (inTitle && hits.length === 0) add(title, 'title');
  return hits;
}

/** Items that are no more than "Breaking changes", as sections with what they hold. */
function titledItems(blocks: readonly Block[]): readonly Section[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'quote') return titledItems(block.blocks);
    if (block.kind !== 'list') return [];
    return block.items.flatMap(([first, ...body]): readonly Section[] => {
      const title = first?.kind === 'para' ? textOf(first.spans).trim() : '';
      const isTitle = body.length > 0 && onlyBreaking.test(plainStart(title)) && isBreakingTitle(title);
      return isTitle ? [{ title, level: 7, hasLink: false, body, under: [] }] : titledItems(body);
    });
  });
}

/** https://gitmoji.dev */
const boom = /^(?:💥|:boom:)/u;

const onlyBreaking = /^[\p{L} -]{0,30}\bbreaking(?:\s+[a-z]{2,20})?(?:\s+changes?)?\s*[:!]?$/iu;

function isBreakingTitle(title: string): boolean {
  const plain = plainStart(title);
  if (plain === '' || isNegated(plain) || saysNone(plain)) return false;
  return breakingStart.test(plain) || (plain.length < maxTitle && breakingWithin.test(plain));
}

const breakingStart =
  /^(?:(?:potentially|potential|possibly|possible|new|other|known|important)\s+)?(?:what(?:['’]s| is)\s+breaking\b|breaking(?:(?:\s+[a-z]{2,20})?\s+changes?\b|\s+(?:updates?|upgrades?|features?|fixes|refactor\w{0,5})\b|\s*(?:$|[:!(/&–—-]))|breaks\s*(?:$|:)|backwards?[- ]incompatib|no(?:n|t)[- ]backwards?[- ]compatible\b|incompatib(?:ilities\b|le\s+(?:[a-z]{2,20}\s+)?changes?\b)|(?:(?:backwards?[- ])?compatibility|bc)[- ]breaks?\b)/i;

const breakingWithin =
  /(?<![\p{L}-])breaking(?:\s+[a-z]{2,20})?\s+changes?\b|(?<![\p{L}-])breaking\s+release\b|[[(]breaking[\])]/iu;

/** `Breaking changes: none`. */
function saysNone(text: string): boolean {
  const [, rest = ''] = /\bbreaking(?:\s+[a-z]{2,20})?\s*[:(–—-]\s*(.{0,200})$/i.exec(text.slice(0, maxSentence)) ?? [];
  return /\p{L}/u.test(rest) && isNothing(rest);
}

/** The items of a section about breaking changes, or its paragraphs. */
function leadingItems(section: Section): readonly string[] {
  const inside = [section, ...section.under].flatMap(({ body }) => linesOf(body));
  const items = inside.filter(({ isItem }) => isItem);
  const telling = (items.length > 0 ? items : inside).map(({ text }) => text).filter((text) => !isNothing(text));
  return telling.length > 0 ? telling.slice(0, maxHits) : [section.under[0]?.title ?? section.title];
}

function hasBody(section: Section): boolean {
  const inside = [section, ...section.under];
  return inside.some(
    ({ body }) => body.some(({ kind }) => kind === 'code') || linesOf(body).some(({ text }) => !isNothing(text)),
  );
}

function isNothing(text: string): boolean {
  const plain = text
    .slice(0, maxHit)
    .replaceAll(/[^\p{L}\p{N}/' ]+/gu, ' ')
    .trim();
  if (nothing.test(plain)) return true;
  return deniedBreaking.test(plain) && !/\b(?:but|except|however|unless|if)\b/i.test(plain);
}

const nothing =
  /^(?:(?:(?:there (?:is|are|were) )?none|n\/a|not applicable|nothing|nil|no(?: changes?)?)(?: breaking(?: changes?)?)?(?: (?:(?:in|for|with|of) )?(?:this|the) (?:release|version|update|time)| since (?:the )?(?:last (?:release|version)|v?\d[\w ]{0,20})| (?:so far|known|yet|at this time|that we (?:know|are aware) of|to (?:note|report)))*)?$/i;

const deniedBreaking = /(?:\b(?:no|not|without|nothing)\b|n't\b).{0,80}\bbreaking\b/i;

/** The mark may be behind another one, as in `[CHANGE] **breaking** …`, or behind the hash of a commit. */
function hasMark(text: string): boolean {
  const plain = plainStart(text).replace(/^[0-9a-f]{7,40}:?\s+/i, '');
  if (conventional.test(plain)) return true;
  if (saysNone(plain)) return false;
  if (/\bBREAKING[ -]CHANGES?\b/.test(text)) return !isNegated(text);
  if (/^`?BREAKING\b(?! NEWS)/.test(plain)) return !isNegated(plain.slice(0, 40));
  if (markAtEnd.test(text.slice(-maxMark))) return true;
  return markAtStart.test(plain) && !isNegated(plain.slice(0, 40));
}

const markAtStart =
  /^(?:\[[a-z ]{1,20}\]:?\s*|(?!(?:docs?|ci|chore|tests?|build|style)\b)[\w./ -]{1,30}[:!]\s*)?(?:(?:an?|one|two|three|\d{1,2})\s+)?(?:[[(]breaking(?:[\s-]+changes?)?[\])]|breaking(?:[\s-]+changes?)?(?:\s*\/[^:]{0,60})?(?:\s*\([^)]{0,60}\))?(?:\s*[:!]|\s+[–—-]\s|\s+ahead\b))/i;

/** `The port moves (breaking change)`. */
const markAtEnd = /[[(]breaking(?:[\s-]+changes?)?!?[\])][\s.!]*$/i;

const maxMark = 40;

/** Of any type, with a scope or without: https://www.conventionalcommits.org/en/v1.0.0/ */
const conventional =
  /^(?!(?:warning|note|notice|attention|important|caution|danger)!)[a-z-]{2,20}(?:\([^)]{1,60}\))?!:/i;

function withoutMark(text: string): string {
  const plain = plainStart(text).replace(
    /^[[(]breaking(?:[\s-]+changes?)?[\])]:?\s*|^breaking(?:[\s-]+changes?)?(?:\s*[:!]|\s+[–—-]\s)\s*/i,
    '',
  );
  return plain === '' ? text : plain;
}

const asksForAction =
  /\bbreaking\b|\bincompatib|\bmanual(?:ly)? (?:action|steps?|intervention|migrat)|\bbefore (?:you )?upgrading|\bmust (?:migrate|be migrated)|\bplease migrate|\bno longer\b|\bremoves? support/i;

function saysBreaking(text: string): boolean {
  return sentencesOf(text).some((sentence) => aboutThis.test(sentence) && !isNegated(sentence));
}

const aboutThis = new RegExp(
  [
    String.raw`\bth(?:is|e) (?:(?:new|major|minor|latest) )?(?:release|version|update|is)\b[^.]{0,200}\b(?:breaking|incompatible) (?:api )?changes?\b`,
    String.raw`\b(?:this|that|which)(?: (?:change|release|version|update|upgrade|pr|one))? is (?:breaking\b|an? (?:breaking|incompatible) (?:api )?(?:change|release|update|upgrade|version)\b)`,
    String.raw`\b(?:this|the) (?:(?:new|major|minor|latest) )?(?:release|version|update) (?:breaks (?:backwards?[- ])?compatibility|is incompatible with)\b`,
    String.raw`\b(?:breaking|incompatible) (?:api )?changes? (?:was|were|has been|have been) (?:made|introduced)\b`,
    String.raw`^\W*(?:please (?:[\w-]{1,20} ){1,3}|(?:see|read|review) the (?:[\w-]{1,20} ){0,2})breaking changes\b`,
    String.raw`\b(?:several|multiple|some|many) breaking (?:api )?changes?\b`,
    String.raw`\b(?:there (?:is|are|was|were)|contains?|includes?|introduces?|brings?|has|have|comes? with) (?:[\w-]{1,20} ){0,2}(?:breaking|incompatible) (?:api )?changes?\b`,
    String.raw`\b(?:this|the) (?:(?:new|major|minor|latest) )?(?:release|version|update) is (?:not|no longer) (?:fully |entirely |completely )?backwards?[- ]compatible\b`,
    String.raw`\b(?:see|read|refer|consult|visit|notes?|guide|docs?|documentation)\b[^.]{0,200}\bfor breaking (?:api )?changes?\b`,
  ].join('|'),
  'i',
);

/**
 * Whether a sentence about breaking changes denies them, mends them, or is a disclaimer of a pre-release. A "no" before
 * "but", before a colon or before another statement is about something else.
 */
function isNegated(text: string): boolean {
  const sentence = text.slice(0, maxSentence);
  return denial.test(sentence) || mending.test(sentence) || disclaimer.test(sentence);
}

const contrast = String.raw`\b(?:but|however|although)\b|[,:]\s+(?:this|the) (?:release|version|update)\b|(?:\band|,)\s+(?:(?:also|it)\s+)?(?:contains?|includes?|introduces?|brings?|has|have)\b`;

const denial = new RegExp(
  String.raw`(?:\b(?:no|not|non|nor|never|zero|without)\b|n't\b)(?:(?!${contrast})[^.;:]){0,80}?[\s-](?:un)?(?:breaking|incompatib)`,
  'i',
);

const mending = new RegExp(
  String.raw`\b(?:fix\w*|mend\w*|avoid\w*|prevent\w*|revert\w*|handle\w*|resolv\w*|word|line)\b(?:(?!${contrast})[^.;]){0,80}?[\s-](?:un)?(?:breaking|incompatib)`,
  'i',
);

const disclaimer =
  /\b(?:may|might|could|coming)\b[^.;:,]{0,30}?[\s-](?:breaking|incompatib)|\+incompatible|\bunpredictably breaking|\bbreaking changes? (?:coming|note)/i;

const maxSentence = 500;

function sentencesOf(text: string): readonly string[] {
  return text.slice(0, 4000).split(/(?<=[.!?])\s+/);
}

/** Without emoji, `:warning:`, quotation and list marks at the beginning. */
function plainStart(text: string): string {
  return text
    .trim()
    .slice(0, maxSentence)
    .replace(/^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{fe0f}\u{200d}\s*_!>#•-]|:[a-z_]{2,30}:)+/u, '')
    .replace(/[\p{Extended_Pictographic}\u{fe0f}\s]+$/u, '');
}

const needsAttention =
  /^(?:upgrad(?:e|ing)\b|update notes|migrati(?:on|ng)\b|deprecat|remov(?:ed|als?)\b|important\b|action required|manual steps?|before (?:you )?(?:upgrad|updat)|notes? for upgrad)/i;

/** The notes only point to another page. */
function isElsewhere(lines: readonly Line[]): boolean {
  const [first] = lines;
  return (
    first !== undefined &&
    /^(?:please )?(?:see|read|visit|check(?: out)?|full (?:release )?notes|release notes)\b/i.test(first.text) &&
    first.hasLink
  );
}

type Line = {
  readonly text: string;
  readonly isItem: boolean;
  /** It begins with a bold word about breaking changes. */
  readonly isMarked: boolean;
  readonly hasLink: boolean;
  readonly alert: Alert | undefined;
};

function linesOf(blocks: readonly Block[], isItem = false, alert?: Alert): readonly Line[] {
  return blocks.flatMap((block): readonly Line[] => {
    switch (block.kind) {
      case 'heading':
      case 'para': {
        const hasLink = block.spans.some((span) => span.kind === 'link') || /https?:\/\//.test(textOf(block.spans));
        const isMarked = startsBold(block.spans);
        return textOf(block.spans)
          .split('\n')
          .map((text) => text.trim())
          .filter((text) => text !== '')
          .map((text, at) => ({ text, isItem: isItem && at === 0, isMarked: isMarked && at === 0, hasLink, alert }));
      }
      case 'list':
        return block.items.flatMap((item) => linesOf(item, true, alert));
      case 'quote':
        return linesOf(block.blocks, isItem, block.alert ?? alert);
      case 'code':
      case 'rule':
        return [];
    }
  });
}

/** `**Breaking Change** please read …`, also behind a mark such as `[CHANGE]` or `CVE-2026-1:`. */
function startsBold(spans: readonly Span[]): boolean {
  const at = spans.findIndex((span) => span.kind === 'strong');
  const strong = spans[at];
  if (strong?.kind !== 'strong') return false;
  const before = plainStart(textOf(spans.slice(0, at)));
  return /^(?:.{0,60}[\]:])?\s*$/.test(before) && /^breaking\b/i.test(plainStart(textOf(strong.spans)));
}

function hasContent(blocks: readonly Block[]): boolean {
  return blocks.some((block) => {
    if (block.kind === 'list') return block.items.some((item) => linesOf(item).length > 0);
    if (block.kind === 'quote') return hasContent(block.blocks);
    if (block.kind !== 'para') return false;
    const own = block.spans.map((span) => (span.kind === 'link' ? '' : textOf([span]))).join('');
    return own.replaceAll(/https?:\/\/\S+/g, '').trim().length >= minContent;
  });
}

/** A shorter text without an item, such as "See the blog post", tells nothing. */
const minContent = 25;

/** Sections and lines without news: thanks, checksums, ways to pull the image. */
function withoutThanks(tree: readonly Block[]): readonly Block[] {
  const kept: Block[] = [];
  let droppedFrom: number | undefined;
  for (const block of tree) {
    const title = titleIn(block);
    if (title !== undefined) {
      if (droppedFrom !== undefined && title.level > droppedFrom && !isBreakingTitle(title.title)) continue;
      droppedFrom = noNews.test(plainStart(title.title)) ? title.level : undefined;
    }
    if (droppedFrom === undefined && !isFurther(block)) kept.push(block);
  }
  return kept;
}

const noNews =
  /^(?:new contributors|contributors?|thanks|thank you|credits|sponsors?|backers|checksums?|sha-?256|docker (?:images?|pull)|full changelog|dependenc(?:y|ies)(?: updates?)?|assets|downloads?)\b/i;

function isFurther(block: Block): boolean {
  if (block.kind === 'code') return /^\s*(?:\$ )?(?:docker|podman) pull \S+\s*$/.test(block.text);
  return block.kind === 'para' && /^\W*full changelog\W/i.test(textOf(block.spans));
}

function pointsOf(breaking: readonly Breaking[], sections: readonly Section[]): readonly string[] {
  const items = (from: readonly Section[]) => from.flatMap(({ body }) => linesOf(body).filter(({ isItem }) => isItem));
  const chosen = order.flatMap((title) => items(sections.filter((one) => title.test(plainStart(one.title)))));
  const all = items(sections);
  const rest = all.length > 0 ? all : sections.flatMap(({ body }) => linesOf(body)).slice(0, 1);
  const told = new Set(breaking.map(({ text }) => text));
  const others = [...chosen, ...rest].filter(({ text }) => !told.has(short(withoutMark(text), maxHit)));
  const texts = [...breaking, ...others].map(({ text }) => short(text, maxPoint));
  return [...new Set(texts.filter((text) => text !== ''))];
}

const order = [
  /^highlights?\b/i,
  /^(?:new\b|features?\b|added\b|enhance|what'?s new)/i,
  /^security\b/i,
  /^chang(?:ed?|es)\b/i,
  /^(?:bug ?)?fix/i,
];

function short(text: string, maxLength: number): string {
  return printable(text.replaceAll(/\s+/g, ' ').trim(), maxLength);
}
