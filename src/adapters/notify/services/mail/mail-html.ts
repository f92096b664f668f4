import type { Message } from '../../../../domain/notification/message.ts';
import { escapeHtml } from '../../../../domain/notification/template/format.ts';
import { readMarked, type MarkedLine, type Span } from '../../service/marked.ts';

/**
 * The HTML beside the text of a mail: the outcome in bold, and a table with a row for each container. The HTML of a
 * user's own template stays as it is.
 */
export function htmlOf({
  text,
  markdown,
  isFromTemplate,
}: Pick<Message, 'text' | 'markdown' | 'isFromTemplate'>): string {
  if (isFromTemplate === true) return `<pre>${text}</pre>`;
  const body = markdown === undefined ? plainBody(text) : markedBody(readMarked(markdown));
  return `<!DOCTYPE html>\n<html><body style="font-family:sans-serif">\n${body}\n</body></html>`;
}

function plainBody(text: string): string {
  const [first = '', ...rest] = text.split('\n');
  const lines = [`<b>${withLinks(first)}</b>`, ...rest.map(withLinks)];
  return `<p>${lines.join('<br>\n')}</p>`;
}

/** The first line is the summary. The items of a list are the rows of a table. */
function markedBody(lines: readonly MarkedLine[]): string {
  const blocks: string[] = [];
  let rows: string[] = [];
  const endTable = (): void => {
    if (rows.length > 0)
      blocks.push(`<table cellpadding="6" style="border-collapse:collapse">\n${rows.join('\n')}\n</table>`);
    rows = [];
  };
  for (const [index, { kind, spans }] of lines.entries()) {
    if (kind === 'item') rows.push(rowOf(spans));
    else if (kind === 'nested') rows.push(rows.pop()?.replace(/<\/td><\/tr>$/, `<br>\n${cell(spans)}</td></tr>`) ?? '');
    else if (spans.length > 0) {
      endTable();
      blocks.push(`<p>${index === 0 ? `<b>${cell(spans)}</b>` : cell(spans)}</p>`);
    }
  }
  endTable();
  return blocks.join('\n');
}

/** The name of the container, and the rest. */
function rowOf(spans: readonly Span[]): string {
  const [name, ...rest] = spans;
  const border = 'style="border:1px solid #ccc;vertical-align:top"';
  if (name?.kind !== 'bold') return `<tr><td colspan="2" ${border}>${cell(spans)}</td></tr>`;
  return `<tr><td ${border}>${cell([name])}</td><td ${border}>${cell(rest).trimStart()}</td></tr>`;
}

function cell(spans: readonly Span[]): string {
  return spans.map(htmlOfSpan).join('');
}

function htmlOfSpan(span: Span): string {
  switch (span.kind) {
    case 'bold':
      return `<b>${escapeHtml(span.words)}</b>`;
    case 'link':
      return `<a href="${escapeHtml(span.address)}">${escapeHtml(span.words)}</a>`;
    case 'code':
      return `<code>${escapeHtml(span.words)}</code>`;
    case 'words':
      return escapeHtml(span.words);
  }
}

/** An address is a link to itself. */
function withLinks(line: string): string {
  return line
    .split(/(https?:\/\/[^\s"'<>()[\]]+)/)
    .map((part, index) =>
      index % 2 === 1 ? htmlOfSpan({ kind: 'link', words: part, address: part }) : escapeHtml(part),
    )
    .join('');
}
