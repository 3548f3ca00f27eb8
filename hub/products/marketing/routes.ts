import { marketing as resource } from '../../../shared/contract/marketing/marketing.ts';
import { actorOf } from '../../platform/http/auth/principal.ts';
import { implement } from '../../platform/http/routing/implement.ts';
import type { Campaigns } from './campaigns.ts';
import type { ContactLists } from './contact-lists.ts';

export const marketingRoutes = (lists: ContactLists, campaigns: Campaigns) =>
  implement(resource, {
    listContactLists: ({ principal, query }) => lists.list(principal.tenantId, query),
    createContactList: ({ principal, body }) => lists.create(principal.tenantId, body.name, actorOf(principal)),
    deleteContactList: ({ principal, params }) => lists.delete(principal.tenantId, params.id, actorOf(principal)),
    listContacts: ({ principal, params, query }) => lists.listContacts(principal.tenantId, params.id, query),
    addContacts: ({ principal, params, body }) =>
      lists.addContacts(principal.tenantId, params.id, body, actorOf(principal)),
    deleteContact: ({ principal, params }) => lists.deleteContact(principal.tenantId, params.id, actorOf(principal)),
    listCampaigns: ({ principal, query }) => campaigns.list(principal.tenantId, query),
    createCampaign: ({ principal, body }) => campaigns.create(principal.tenantId, body, actorOf(principal)),
    updateCampaign: ({ principal, params, body }) =>
      campaigns.update(principal.tenantId, params.id, body, actorOf(principal)),
    deleteCampaign: ({ principal, params }) => campaigns.delete(principal.tenantId, params.id, actorOf(principal)),
  });
