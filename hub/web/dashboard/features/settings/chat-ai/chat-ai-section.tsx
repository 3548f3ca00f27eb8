import { useQuery, useQueryClient } from '@tanstack/react-query';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { ChoiceField, LinesField, LongTextField, NumberField, SwitchRow, TextField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { Note } from '../parts/note.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { ToolList } from './tool-list.tsx';

type Response = Answer<'getChatAiSettings'>;
type Value = Omit<Response, 'entitlementActive' | 'usage' | 'updatedAt'>;

function valueOf({ entitlementActive: _active, usage: _usage, updatedAt: _at, ...value }: Response): Value {
  return value;
}
const modes = ['when_no_agent_online', 'always', 'shadow', 'off'] as const satisfies readonly Value['mode'][];

function Today({ usage }: { usage: Response['usage'] }) {
  const { words, format } = useLanguage();
  return (
    <p className="mb-3 text-text-muted">
      {format(words.settings.chatAi.today, {
        replies: usage.replies,
        suggestions: usage.suggestions,
        handOvers: usage.handOvers,
        tokens: usage.inputTokens + usage.outputTokens,
      })}
    </p>
  );
}

function ChatAiForm({ server }: { server: Response }) {
  const { settings } = useLanguage().words;
  const words = settings.chatAi;
  const cache = useQueryClient();
  const input = { params: { tenantId: useTenantId() } };
  const put = useAction('putChatAiSettings', {
    onDone: (answer) => cache.setQueryData(keyOf('getChatAiSettings', input), answer),
  });
  const edits = useEdits<Value>({
    current: valueOf(server),
    reload: async () => valueOf(await cache.fetchQuery({ ...query('getChatAiSettings', input), staleTime: 0 })),
    save: (_value, changes) => put.run({ ...input, body: changes }),
  });
  const { value, set, errorOf } = edits;
  return (
    <EditForm edits={edits} labels={words.labels} canEdit>
      <Section title={words.answering}>
        <SwitchRow
          label={words.labels.enabled}
          isOn={value.enabled}
          error={errorOf('enabled')}
          onChange={(enabled) => set({ enabled })}
        />
        <ChoiceField
          label={words.labels.mode}
          hint={words.modeTexts[value.mode]}
          value={value.mode}
          choices={modes.map((mode) => [mode, words.modes[mode]] as const)}
          error={errorOf('mode')}
          onChange={(mode) => set({ mode })}
        />
      </Section>
      <Section title={words.style}>
        <LongTextField
          label={words.labels.businessProfile}
          data-keep="business profile"
          hint={words.profileHint}
          isOptional
          rows={5}
          maxLength={10_000}
          value={value.businessProfile}
          error={errorOf('businessProfile')}
          onChange={(businessProfile) => set({ businessProfile })}
        />
        <div className="grid gap-x-4 sm:grid-cols-2">
          <TextField
            label={words.labels.tone}
            hint={words.toneHint}
            isOptional
            maxLength={200}
            value={value.tone}
            error={errorOf('tone')}
            onChange={(tone) => set({ tone })}
          />
          <TextField
            label={words.labels.language}
            hint={words.languageHint}
            required
            value={value.language}
            error={errorOf('language')}
            onChange={(language) => set({ language })}
          />
        </div>
        <TextField
          label={words.labels.disclosure}
          hint={words.disclosureHint}
          isOptional
          maxLength={300}
          value={value.disclosure}
          error={errorOf('disclosure')}
          onChange={(disclosure) => set({ disclosure })}
        />
      </Section>
      <Section title={words.handoff}>
        <LinesField
          label={words.labels.handoffKeywords}
          hint={words.keywordsHint}
          isOptional
          value={value.handoffKeywords}
          error={errorOf('handoffKeywords')}
          onChange={(handoffKeywords) => set({ handoffKeywords })}
        />
        <LongTextField
          label={words.labels.handoffMessage}
          hint={words.handoffHint}
          isOptional
          rows={2}
          maxLength={1000}
          value={value.handoffMessage}
          error={errorOf('handoffMessage')}
          onChange={(handoffMessage) => set({ handoffMessage })}
        />
        <NumberField
          label={words.labels.minConfidence}
          hint={words.confidenceHint}
          min={0}
          max={1}
          step="any"
          required
          value={value.minConfidence}
          error={errorOf('minConfidence')}
          onChange={(number) => set({ minConfidence: number ?? 0 })}
        />
      </Section>
      <Section title={words.limits}>
        <div className="grid gap-x-4 sm:grid-cols-2">
          <NumberField
            label={words.labels.maxRepliesPerConversation}
            hint={words.repliesHint}
            min={1}
            max={1000}
            required
            value={value.maxRepliesPerConversation}
            error={errorOf('maxRepliesPerConversation')}
            onChange={(number) => set({ maxRepliesPerConversation: number ?? 1 })}
          />
          <NumberField
            label={words.labels.dailyReplyBudget}
            hint={words.budgetHint}
            min={0}
            max={1_000_000}
            required
            value={value.dailyReplyBudget}
            error={errorOf('dailyReplyBudget')}
            onChange={(number) => set({ dailyReplyBudget: number ?? 0 })}
          />
          <NumberField
            label={words.labels.debounceMs}
            hint={words.debounceHint}
            unit={words.milliseconds}
            min={0}
            max={30_000}
            required
            value={value.debounceMs}
            error={errorOf('debounceMs')}
            onChange={(number) => set({ debounceMs: number ?? 0 })}
          />
        </div>
      </Section>
      <ToolList tools={value.tools} onChange={(tools) => set({ tools })} errorOf={errorOf} />
    </EditForm>
  );
}

export function ChatAiSection() {
  const { settings } = useLanguage().words;
  const chatAi = useQuery(query('getChatAiSettings', { params: { tenantId: useTenantId() } }));
  return (
    <Loaded of={chatAi}>
      {(server) => (
        <>
          {!server.entitlementActive && <Note tone="warning">{settings.chatAi.notEntitled}</Note>}
          <Today usage={server.usage} />
          <ChatAiForm server={server} />
        </>
      )}
    </Loaded>
  );
}
