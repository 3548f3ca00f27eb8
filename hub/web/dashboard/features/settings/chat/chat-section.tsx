import { useQuery, useQueryClient } from '@tanstack/react-query';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../../app/session.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { CodeBlock } from '../../../ui/value.tsx';
import { ChoiceField, LinesField, NumberField, SwitchRow } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { Note } from '../parts/note.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { AppearanceFields } from './appearance-fields.tsx';
import { BusinessHours } from './business-hours.tsx';
import type { ChatValue } from './chat-value.ts';

type Response = Answer<'getChatSettings'>;

function valueOf({ siteKey: _key, snippet: _snippet, updatedAt: _at, ...value }: Response): ChatValue {
  return value;
}
const fieldRequests = ['off', 'optional', 'required'] as const;

function Snippet({ server }: { server: Response }) {
  const { settings } = useLanguage().words;
  const words = settings.chat;
  return (
    <Section title={words.snippetTitle} className="mb-4 max-w-3xl">
      <p className="mb-2 text-text-muted">{words.snippetText}</p>
      <CodeBlock text={server.snippet} label={words.snippetTitle} />
      {server.allowedOrigins.length === 0 && (
        <div className="mt-3 -mb-3">
          <Note tone="warning">{words.noOrigins}</Note>
        </div>
      )}
    </Section>
  );
}

function ChatForm({ server }: { server: Response }) {
  const { settings } = useLanguage().words;
  const words = settings.chat;
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const input = { params: { tenantId: useTenantId() } };
  const put = useAction('putChatSettings', {
    onDone: (answer) => cache.setQueryData(keyOf('getChatSettings', input), answer),
  });
  const edits = useEdits<ChatValue>({
    current: valueOf(server),
    reload: async () => valueOf(await cache.fetchQuery({ ...query('getChatSettings', input), staleTime: 0 })),
    // Omitted fields do not change, so that a save never undoes what someone else changed.
    save: (_value, changes) => put.run({ ...input, body: changes }),
  });
  const { value, set, errorOf } = edits;
  const requests = fieldRequests.map((each) => [each, words.requests[each]] as const);
  return (
    <EditForm edits={edits} labels={words.labels} canEdit={isAdmin}>
      <Section title={words.sites}>
        <LinesField
          label={words.labels.allowedOrigins}
          hint={words.originsHint}
          value={value.allowedOrigins}
          error={errorOf('allowedOrigins')}
          onChange={(allowedOrigins) => set({ allowedOrigins })}
        />
      </Section>
      <AppearanceFields value={value} set={set} errorOf={errorOf} />
      <Section title={words.visitors}>
        <SwitchRow
          label={words.labels.allowAnonymous}
          hint={words.anonymousHint}
          isOn={value.allowAnonymous}
          isDisabled={!isAdmin}
          onChange={(allowAnonymous) => set({ allowAnonymous })}
        />
        <div className="grid gap-x-4 sm:grid-cols-2">
          <ChoiceField
            label={words.preChatName}
            value={value.preChat.name}
            choices={requests}
            error={errorOf('preChat.name')}
            onChange={(name) => set({ preChat: { ...value.preChat, name } })}
          />
          <ChoiceField
            label={words.preChatEmail}
            value={value.preChat.email}
            choices={requests}
            error={errorOf('preChat.email')}
            onChange={(email) => set({ preChat: { ...value.preChat, email } })}
          />
        </div>
        <SwitchRow
          label={words.labels.ratings}
          isOn={value.ratings}
          isDisabled={!isAdmin}
          onChange={(ratings) => set({ ratings })}
        />
        <SwitchRow
          label={words.labels.keepAddresses}
          hint={words.addressesHint}
          isOn={value.keepAddresses}
          isDisabled={!isAdmin}
          onChange={(keepAddresses) => set({ keepAddresses })}
        />
        <NumberField
          label={words.labels.retentionDays}
          hint={words.retentionHint}
          unit={settings.daysUnit}
          isOptional
          min={1}
          max={3650}
          value={value.retentionDays}
          error={errorOf('retentionDays')}
          onChange={(retentionDays) => set({ retentionDays })}
        />
      </Section>
      <Section title={words.labels.autoAssignment}>
        <SwitchRow
          label={words.assign}
          hint={words.assignHint}
          isOn={value.autoAssignment.enabled}
          isDisabled={!isAdmin}
          onChange={(enabled) => set({ autoAssignment: { ...value.autoAssignment, enabled } })}
        />
        <NumberField
          label={words.capacity}
          min={1}
          max={1000}
          required
          value={value.autoAssignment.capacity}
          error={errorOf('autoAssignment.capacity')}
          onChange={(capacity) => set({ autoAssignment: { ...value.autoAssignment, capacity: capacity ?? 1 } })}
        />
        <SwitchRow
          label={words.returnToPool}
          isOn={value.autoAssignment.returnToPool}
          isDisabled={!isAdmin}
          onChange={(returnToPool) => set({ autoAssignment: { ...value.autoAssignment, returnToPool } })}
        />
      </Section>
      <BusinessHours
        hours={value.businessHours}
        onChange={(businessHours) => set({ businessHours })}
        errorOf={errorOf}
        canEdit={isAdmin}
      />
    </EditForm>
  );
}

export function ChatSection() {
  const chat = useQuery(query('getChatSettings', { params: { tenantId: useTenantId() } }));
  return (
    <Loaded of={chat}>
      {(server) => (
        <>
          <Snippet server={server} />
          <ChatForm server={server} />
        </>
      )}
    </Loaded>
  );
}
