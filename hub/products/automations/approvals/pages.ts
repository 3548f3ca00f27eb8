import { AppError } from '../../../../shared/errors.ts';
import { nameBlanks } from '../../../../shared/exact-text.ts';
import type { BlankKind } from '../../../../shared/exact-text.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { pageOf, renderNotice, renderLine, renderText } from '../../../platform/http/pages/page-layout.ts';
import { linkHeaders } from '../../../platform/http/pages/page.ts';
import type { Page, PageResponse } from '../../../platform/http/pages/page.ts';
import type { ApprovalLinks, LinkedApproval } from './links.ts';

const blankNames: Record<BlankKind, string> = {
  lineBreak: 'line break',
  lineBreaks: 'line breaks',
  lineBreaksAndSpaces: 'line breaks, with spaces between',
  spaces: 'spaces',
  spacesAndTabs: 'spaces and tabs',
};
const nameOf = (kind: BlankKind, count: number) =>
  kind === 'lineBreak' ? blankNames[kind] : `${count.toLocaleString('en')} ${blankNames[kind]}`;

/** Renders a text with visible start, end and whitespace; an empty text is rendered as "empty". */
const renderExact = (text: string) =>
  text === '' ? '<b class="mark">empty</b>' : `<code>${renderText(nameBlanks(text, nameOf))}</code>`;

/** Renders the fields of the request: texts and lists of texts as readable items, all other values as JSON. */
function renderFields(fields: JsonObject): string {
  const rows = Object.entries(fields).map(([name, value]) => {
    const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
    const shown = isList
      ? `<ol>${value.map((item) => `<li>${renderExact(item as string)}</li>`).join('')}</ol>`
      : renderExact(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
    return `<dt>${renderLine(name)}</dt><dd>${shown}</dd>`;
  });
  return `<dl>${rows.join('')}</dl>`;
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const requestTitles: Record<LinkedApproval['state'], string> = {
  open: 'If you approve, exactly this is done:',
  voted: 'If enough people approve, exactly this is done:',
  approved: 'Exactly this was approved:',
  rejected: 'This was requested:',
  over: 'This was requested:',
};

/** Renders the skill and the exact input that an approval starts; empty for approvals without a request. */
function renderRequest({ approval: { kind, request }, state }: LinkedApproval): string {
  const call =
    kind === 'system.run'
      ? { skillId: 'system.run', input: request }
      : isObject(request['next'])
        ? request['next']
        : request;
  const { skillId, input } = call;
  if (typeof skillId !== 'string' || !isObject(input)) return '';
  return `<h2>${requestTitles[state]} ${renderLine(skillId)}</h2>${renderFields(input)}`;
}

const forPeople = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

const stateTitles: Record<Exclude<LinkedApproval['state'], 'open'>, string> = {
  voted: 'Thank you. Other people still have to decide.',
  approved: 'This is approved.',
  rejected: 'This is rejected.',
  over: 'This cannot be decided any more: it has expired, or its run has ended.',
};

/** Renders the exact request with both buttons, or the outcome. */
function renderApprovalPage(linked: LinkedApproval): string {
  const { approver, approval, state } = linked;
  const silence = approval.onTimeout === 'approve' ? 'approved' : 'rejected';
  const until =
    approval.expiresAt === null || state !== 'open'
      ? ''
      : `<p>Until ${forPeople.format(approval.expiresAt)} UTC. If too few people decide by then, it is ${silence}.</p>`;
  const became =
    state === 'open'
      ? ''
      : `<p><span class="state${state === 'approved' || state === 'voted' ? '' : ' down'}">${stateTitles[state]}</span></p>`;
  const form =
    state === 'open'
      ? `<form method="post"><h2><label for="note">Note (optional)</label></h2><textarea id="note" name="note" rows="2" maxlength="2000"></textarea>
<nav><button name="decision" value="approved">Approve</button><button class="quiet" name="decision" value="rejected">Reject</button></nav></form>`
      : '';
  return pageOf(
    approval.title,
    `<h1>${renderLine(approval.title)}</h1>${became}<p class="message">${renderText(approval.message)}</p>${until}${renderRequest(linked)}${form}<p class="small">For ${renderLine(approver)} only. This link works for one decision.</p>`,
  );
}

/** Renders an error of a link as a page. */
async function orNotice(answer: () => Promise<PageResponse>): Promise<PageResponse> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { status: error.status, headers: linkHeaders, html: renderNotice("That can't be done", error.message) };
  }
}

/** The page of an approval link. */
export const approvalPages = (links: ApprovalLinks): Page[] => [
  {
    method: 'GET',
    path: '/approve/:token',
    limit: 'page',
    answer: ({ params }) =>
      orNotice(async () => {
        const found = await links.read(params['token'] as string);
        return found === null
          ? {
              status: 404,
              headers: linkHeaders,
              html: renderNotice('This link does not work', 'A newer link replaced it, or the link is wrong.'),
            }
          : { headers: linkHeaders, html: renderApprovalPage(found) };
      }),
  },
  // Only a form submission decides, because mail scanners open every link of a mail.
  {
    method: 'POST',
    path: '/approve/:token',
    limit: 'page',
    answer: ({ params, form }) =>
      orNotice(async () => {
        const { decision, note } = await form();
        if (decision !== 'approved' && decision !== 'rejected')
          throw new AppError('validation_failed', 'Choose one of the two buttons.');
        const found = await links.decide(
          params['token'] as string,
          decision,
          typeof note === 'string' && note !== '' ? note.slice(0, 2000) : undefined,
        );
        return { headers: linkHeaders, html: renderApprovalPage(found) };
      }),
  },
];
