import { marketing as resource } from '../../../shared/contract/marketing/marketing.ts';
import { implement } from '../../platform/http/implement.ts';
import { actorOf } from '../../platform/http/principal.ts';
import type { Marketing } from './marketing.ts';

export const marketingRoutes = (marketing: Marketing) =>
  implement(resource, {
    listContactLists: ({ principal, query }) => marketing.listLists(principal.tenantId, query),
    createContactList: ({ principal, body }) => marketing.createList(principal.tenantId, body.name, actorOf(principal)),
    deleteContactList: ({ principal, params }) =>
      marketing.deleteList(principal.tenantId, params.id, actorOf(principal)),
    listContacts: ({ principal, params, query }) => marketing.listContacts(principal.tenantId, params.id, query),
    addContacts: ({ principal, params, body }) =>
      marketing.addContacts(principal.tenantId, params.id, body, actorOf(principal)),
    deleteContact: ({ principal, params }) =>
      marketing.deleteContact(principal.tenantId, params.id, actorOf(principal)),
    listCampaigns: ({ principal, query }) => marketing.listCampaigns(principal.tenantId, query),
    createCampaign: ({ principal, body }) => marketing.createCampaign(principal.tenantId, body, actorOf(principal)),
    updateCampaign: ({ principal, params, body }) =>
      marketing.updateCampaign(principal.tenantId, params.id, body, actorOf(principal)),
    deleteCampaign: ({ principal, params }) =>
      marketing.deleteCampaign(principal.tenantId, params.id, actorOf(principal)),
  });
