import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { maxAttributes } from '../chat/shapes.ts';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const member = { tag: 'Marketing', callers: ['session'], role: 'agent', entitlement: 'marketing' } as const;

const email = z
  .email('must be an email address')
  .max(254)
  .transform((value) => value.toLowerCase());

const attributes = jsonObject.describe(
  `Your own fields, for use in campaign templates; at most ${maxAttributes} keys and 16 KiB in total`,
);

const contactList = named(
  'ContactList',
  z.object({
    id: id.describe('Id of the list'),
    name: z.string().describe('Display name, at most 200 characters'),
    contacts: z.int().describe('Number of contacts, including unsubscribed ones'),
    unsubscribed: z.int().describe('Number of unsubscribed contacts'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
const contact = named(
  'Contact',
  z.object({
    id: id.describe('Id of the contact'),
    email: z.string().describe('Email address in lower case; unique in its list'),
    name: z.string().nullable().describe('Name of the person; null when it is not known'),
    attributes,
    unsubscribedAt: timestamp.nullable(),
    createdAt: timestamp,
  }),
);

const campaignFields = {
  name: name.describe('Display name, 1 to 200 characters'),
  listId: id.describe('List of the recipients'),
  subject: text(1, 500).describe('Subject of the mail, 1 to 500 characters; may contain templates'),
  html: text(1, 500_000).nullable().describe('HTML body, at most 500,000 characters; null without one'),
  text: text(1, 100_000).nullable().describe('Plain text body, at most 100,000 characters; null without one'),
};
const campaign = named(
  'Campaign',
  z.object({
    id: id.describe('Id of the campaign'),
    name: z.string().describe('Display name, at most 200 characters'),
    listId: id.describe('List of the recipients'),
    subject: z.string().describe('Subject of the mail, at most 500 characters; may contain templates'),
    html: z.string().nullable().describe('HTML body, at most 500,000 characters; null without one'),
    text: z.string().nullable().describe('Plain text body, at most 100,000 characters; null without one'),
    mails: z
      .object({
        sent: z.int().describe('Mails that the mail server accepted'),
        simulated: z.int().describe('Mails that test runs simulated. A contact counts once for each test run'),
        failed: z.int().describe('Mails that the mail server refused'),
        unknown: z
          .int()
          .describe('Mails in progress or interrupted. Their outcome is unknown, so they are not sent again'),
      })
      .describe('Number of mails by outcome'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);

const listContacts = z.strictObject({ id });

export const marketing = defineResource({
  listContactLists: {
    ...member,
    method: 'GET',
    path: '/growth/marketing/lists',
    summary: 'List contact lists',
    description: 'Newest first. `contacts` includes unsubscribed contacts.',
    query: listQuery,
    response: page(contactList),
  },
  createContactList: {
    ...member,
    method: 'POST',
    path: '/growth/marketing/lists',
    summary: 'Create a contact list',
    description: 'Every member can create lists, including those with the role `agent`. Only workflows send campaigns.',
    body: z.strictObject({ name: name.describe('Display name, 1 to 200 characters') }),
    response: contactList,
    errors: ['workspace_limit_reached'],
  },
  deleteContactList: {
    ...member,
    method: 'DELETE',
    path: '/growth/marketing/lists/{id}',
    summary: 'Delete a contact list and its contacts',
    description:
      'Refused while a campaign uses the list, even if the campaign was sent. The unsubscriptions of its contacts are deleted too.',
    params: idParams,
    response: deleted,
    errors: ['conflict'],
  },
  listContacts: {
    ...member,
    method: 'GET',
    path: '/growth/marketing/lists/{id}/contacts',
    summary: 'List the contacts of a list',
    description: 'Newest first, including unsubscribed contacts. A page ends early when it would exceed 4 MiB.',
    params: listContacts,
    query: listQuery,
    response: page(contact),
  },
  addContacts: {
    ...member,
    method: 'POST',
    path: '/growth/marketing/lists/{id}/contacts',
    summary: 'Add contacts to a list',
    description: 'Existing contacts of the list are updated. Unsubscribed contacts stay unsubscribed.',
    params: listContacts,
    body: z.strictObject({
      contacts: z
        .array(
          z.strictObject({
            email: email.describe('Email address; identifies the contact in its list'),
            name: text(1, 200).optional().describe('Name of the person, 1 to 200 characters'),
            attributes: attributes.optional(),
          }),
        )
        .min(1, 'must have at least one contact')
        .max(1000, 'must have at most 1000 contacts')
        .describe('Contacts to add or update, 1 to 1,000'),
    }),
    response: z.object({
      added: z.int().describe('Number of new contacts'),
      updated: z.int().describe('Number of updated contacts'),
    }),
    errors: ['workspace_limit_reached'],
  },
  deleteContact: {
    ...member,
    method: 'DELETE',
    path: '/growth/marketing/contacts/{id}',
    summary: 'Delete a contact',
    description:
      'Also deletes the unsubscription and the record of received campaigns. If the address is added again, the contact is subscribed and can receive the same campaigns again.',
    params: idParams,
    response: deleted,
  },
  listCampaigns: {
    ...member,
    method: 'GET',
    path: '/growth/marketing/campaigns',
    summary: 'List campaigns',
    description: 'Newest first, with the content of their mails. A page ends early when it would exceed 4 MiB.',
    query: listQuery,
    response: page(campaign),
  },
  createCampaign: {
    ...member,
    method: 'POST',
    path: '/growth/marketing/campaigns',
    summary: 'Create a campaign',
    description: 'Templates can contain `{{name}}`, `{{email}}` and `{{attributes.<name>}}` of the contact.',
    body: z
      .strictObject({
        ...campaignFields,
        html: campaignFields.html.default(null),
        text: campaignFields.text.default(null),
      })
      .refine((body) => body.html !== null || body.text !== null, {
        message: 'is required when html is missing',
        path: ['text'],
      })
      .meta({
        example: {
          name: 'Spring letter',
          listId: '01980000-0000-7000-8000-000000000004',
          subject: 'Spring is here',
          text: 'Hello {{name}}',
        },
      }),
    response: campaign,
    errors: ['not_found', 'workspace_limit_reached'],
  },
  updateCampaign: {
    ...member,
    method: 'PATCH',
    path: '/growth/marketing/campaigns/{id}',
    summary: 'Update a campaign',
    description:
      'Omitted fields do not change; `html` or `text` must remain. A step that is sending continues with the earlier content, and contacts who received the campaign do not receive it again.',
    params: idParams,
    body: z
      .strictObject(campaignFields)
      .partial()
      .refine((body) => Object.values(body).some((value) => value !== undefined), 'give at least one field')
      .meta({ example: { subject: 'Spring is here' } }),
    response: campaign,
  },
  deleteCampaign: {
    ...member,
    method: 'DELETE',
    path: '/growth/marketing/campaigns/{id}',
    summary: 'Delete a campaign',
    description:
      'Steps that send the campaign later fail with `not_found`. Contacts are kept; the counts and the record of sent mails are deleted.',
    params: idParams,
    response: deleted,
  },
});
