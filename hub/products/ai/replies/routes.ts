import { aiSettings as settingsResource } from '../../../../shared/contract/chat/ai-settings.ts';
import { aiSuggestions as suggestionsResource } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Chat } from '../../chat/index.ts';
import type { AiSettings } from './settings.ts';
import type { SuggestionGenerator } from './suggestion-generator.ts';

export const replyRoutes = ({
  settings,
  suggestionGenerator,
  suggestions,
}: {
  settings: AiSettings;
  suggestionGenerator: SuggestionGenerator;
  suggestions: Chat['suggestions'];
}) => [
  ...implement(settingsResource, {
    getChatAiSettings: ({ principal }) => settings.show(principal),
    putChatAiSettings: ({ principal, body }) => settings.change(principal, body),
  }),
  ...implement(suggestionsResource, {
    listAiSuggestions: ({ principal, params, query }) => suggestions.list(principal.tenantId, params.channelId, query),
    createAiSuggestion: ({ principal, params, signal }) =>
      suggestionGenerator.generate(principal.tenantId, principal.user.id, params.channelId, signal),
    acceptAiSuggestion: ({ principal, params }) =>
      suggestions.accept(principal.tenantId, params.channelId, params.id, principal.user.id),
  }),
];
