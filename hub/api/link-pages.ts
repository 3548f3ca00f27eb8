import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { LinkedApproval } from '../modules/approvals/index.ts';
import { pageOf, shownLine, shownText } from './status-page.ts';

/** A page that says one thing. */
export function renderNotice(title: string, message: string): string {
  return pageOf(title, `<h1>${shownLine(title)}</h1><p>${shownText(message)}</p>`);
}

/** The fields of what would be done, each as a person reads it; what is no text stands as JSON. */
function renderFields(fields: JsonObject): string {
  const rows = Object.entries(fields).map(([name, value]) => {
    const text = typeof value === 'string' ? value : Array.isArray(value) && value.every((item) => typeof item === 'string' && !item.includes('\n')) ? value.join('\n') : JSON.stringify(value, null, 2);
    return `<dt>${shownLine(name)}</dt><dd>${shownText(text)}</dd>`;
  });
  return `<dl>${rows.join('')}</dl>`;
}

const isObject = (value: JsonValue | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What an approval sets going: the skill and its input, byte for byte; nothing for one that binds nothing. */
function renderRequest({ kind, request }: LinkedApproval['approval']): string {
  const call = kind === 'system.run' ? { skillId: 'system.run', input: request } : isObject(request['next']) ? request['next'] : request;
  const { skillId, input } = call;
  if (typeof skillId !== 'string' || !isObject(input)) return '';
  return `<h2>If you approve, this is done, exactly: ${shownLine(skillId)}</h2>${renderFields(input)}`;
}

const forPeople = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

/** What is to be approved, exactly, and the two buttons; or how it was decided. */
export function renderApprovalPage({ approver, approval, open }: LinkedApproval): string {
  const until = approval.expiresAt === null || !open ? '' : `<p>Until ${shownLine(forPeople.format(approval.expiresAt))} UTC</p>`;
  const decided = { pending: 'Thank you. Others still have to decide.', approved: 'This is approved.', rejected: 'This is rejected.', expired: 'Its time is over.' }[approval.status];
  const form = open
    ? `<form method="post"><h2><label for="note">A note, if you like</label></h2><textarea id="note" name="note" rows="2" maxlength="2000"></textarea>
<nav><button name="decision" value="approved">Approve</button><button class="quiet" name="decision" value="rejected">Reject</button></nav></form>`
    : `<p class="state${approval.status === 'approved' || approval.status === 'pending' ? '' : ' down'}">${decided}</p>`;
  return pageOf(approval.title, `<h1>${shownLine(approval.title)}</h1><p class="said">${shownText(approval.message)}</p>${until}${renderRequest(approval)}${form}<p class="small">For ${shownLine(approver)} alone; good for one decision.</p>`);
}

export function renderUnsubscribePage(contact: { email: string; unsubscribed: boolean }): string {
  if (contact.unsubscribed) return renderNotice('You are unsubscribed', `${contact.email} gets no more of these mails.`);
  return pageOf('Unsubscribe', `<h1>No more of these mails?</h1><p>They go to ${shownLine(contact.email)}.</p><form method="post"><nav><button>Unsubscribe</button></nav></form>`);
}
