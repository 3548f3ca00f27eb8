import type { LinkedApproval } from '../modules/approvals/index.ts';
import { escapeHtml, pageOf } from './status-page.ts';

/** A page that says one thing. */
export function renderNotice(title: string, message: string): string {
  return pageOf(title, `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(message)}</p>`);
}

/** What is to be approved, exactly, and the two buttons; or how it was decided. */
export function renderApprovalPage({ approver, approval, open }: LinkedApproval): string {
  const request = JSON.stringify(approval.request, null, 2);
  const until = approval.expiresAt === null ? '' : `<p>Until ${escapeHtml(approval.expiresAt.toISOString())}</p>`;
  const decided = { pending: 'Thank you. Others still have to decide.', approved: 'This is approved.', rejected: 'This is rejected.', expired: 'Its time is over.' }[approval.status];
  const form = open
    ? `<form method="post"><p><label for="note">Note</label></p><textarea id="note" name="note" rows="3" maxlength="2000"></textarea>
<nav><button name="decision" value="approved">Approve</button><button class="quiet" name="decision" value="rejected">Reject</button></nav></form>`
    : `<p class="state${approval.status === 'approved' || approval.status === 'pending' ? '' : ' down'}">${decided}</p>`;
  return pageOf(approval.title, `<h1>${escapeHtml(approval.title)}</h1><p>${escapeHtml(approval.message)}</p>${until}
<h2>What happens if you approve</h2><pre>${escapeHtml(request)}</pre>
${form}<p>For ${escapeHtml(approver)} only; good for one decision.</p>`);
}

export function renderUnsubscribePage(contact: { email: string; unsubscribed: boolean }): string {
  if (contact.unsubscribed) return renderNotice('You are unsubscribed', `${contact.email} gets no more of these mails.`);
  return pageOf('Unsubscribe', `<h1>No more of these mails?</h1><p>They go to ${escapeHtml(contact.email)}.</p><form method="post"><nav><button>Unsubscribe</button></nav></form>`);
}
