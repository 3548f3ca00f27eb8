import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { addressOf } from '../../../../../shared/client/client.ts';
import type { InboxConversationDetail, InboxVisitorDetail } from '../../../../../shared/client/operations.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { showToast } from '../../ui/toasts.tsx';
import { StartForm } from './start-form.tsx';
import { opening, useInboxAddress } from './use-inbox-address.ts';

const visitorOperations = ['getInboxVisitor', 'getInboxConversation', 'listInboxConversations'] as const;

/** Reads again what shows the visitor. */
function useReadVisitorAgain() {
  const cache = useQueryClient();
  return () => Promise.all(visitorOperations.map((id) => cache.invalidateQueries({ queryKey: [id] })));
}

function EditDialog({ visitor, onClose }: { visitor: InboxVisitorDetail; onClose: () => void }) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const tenantId = useTenantId();
  const readAgain = useReadVisitorAgain();
  const update = useAction('updateInboxVisitor', {
    async onDone() {
      await readAgain();
      onClose();
    },
  });
  const submit = (form: FormData) => {
    const valueOf = (name: string) => {
      const text = String(form.get(name)).trim();
      return text === '' ? null : text;
    };
    update.start({
      params: { tenantId, id: visitor.id },
      body: { displayName: valueOf('name'), email: valueOf('email'), phone: valueOf('phone') },
    });
  };
  return (
    <Dialog title={inbox.editVisitor} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit(new FormData(event.currentTarget));
        }}
      >
        <Field label={inbox.name} isOptional>
          {(attributes) => (
            <Input {...attributes} name="name" maxLength={200} defaultValue={visitor.display_name ?? ''} autoFocus />
          )}
        </Field>
        <Field label={inbox.email} isOptional>
          {(attributes) => (
            <Input {...attributes} name="email" type="email" maxLength={254} defaultValue={visitor.email ?? ''} />
          )}
        </Field>
        <Field label={inbox.phone} isOptional>
          {(attributes) => (
            <Input {...attributes} name="phone" type="tel" maxLength={40} defaultValue={visitor.phone ?? ''} />
          )}
        </Field>
        <ErrorNote error={update.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" variant="primary" isBusy={update.isPending}>
            {common.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** What agents do with a visitor. Only admins export and erase. */
export function VisitorActions({
  visitor,
  conversation,
  onStarted,
}: {
  visitor: InboxVisitorDetail;
  conversation: InboxConversationDetail;
  onStarted: (conversationId: string) => void;
}) {
  const { words } = useLanguage();
  const { inbox } = words;
  const tenantId = useTenantId();
  const isAdmin = useIsAdmin();
  const { go } = useInboxAddress();
  const readAgain = useReadVisitorAgain();
  const [dialog, setDialog] = useState<'edit' | 'block' | 'revoke' | 'erase' | 'start' | null>(null);
  const close = () => setDialog(null);
  const onDone = async () => {
    await readAgain();
    close();
  };
  const block = useAction('blockInboxVisitor', { onDone });
  const unblock = useAction('unblockInboxVisitor', { onDone });
  const revocation = useAction('revokeInboxLinks', {
    onDone() {
      close();
      showToast(inbox.linksRevoked);
    },
  });
  const erasure = useAction('eraseInboxVisitor', {
    async onDone() {
      go(opening(undefined), true);
      showToast(inbox.erased);
      await readAgain();
    },
  });
  const params = { tenantId, id: visitor.id };
  const isBlocked = visitor.blocked_at !== null;
  // The hub refuses a second conversation while one is not closed.
  const canStart = !isBlocked && visitor.conversations.every(({ status }) => status === 'closed');
  return (
    <section aria-label={inbox.actions} className="mt-4 flex flex-wrap gap-1.5 border-t pt-3">
      <Button size="small" onClick={() => setDialog('edit')}>
        {inbox.editVisitor}
      </Button>
      {canStart && (
        <Button size="small" onClick={() => setDialog('start')}>
          {inbox.newConversation}
        </Button>
      )}
      {isBlocked ? (
        <Button size="small" isBusy={unblock.isPending} onClick={() => unblock.start({ params })}>
          {inbox.unblock}
        </Button>
      ) : (
        <Button size="small" variant="danger" onClick={() => setDialog('block')}>
          {inbox.block}
        </Button>
      )}
      <Button size="small" onClick={() => setDialog('revoke')}>
        {inbox.revokeLinks}
      </Button>
      {isAdmin && (
        <>
          <a
            href={addressOf('', 'exportInboxVisitor', { params }).url}
            download={`visitor-${visitor.id}.ndjson`}
            className="inline-flex min-h-7 items-center rounded-(--radius-medium) border border-border-button bg-surface px-2 py-0.5 text-sm font-semibold text-text no-underline hover:bg-surface-muted"
          >
            {inbox.exportData}
          </a>
          <Button size="small" variant="danger" onClick={() => setDialog('erase')}>
            {inbox.erase}
          </Button>
        </>
      )}
      <ErrorNote error={unblock.error} />
      {dialog === 'edit' && <EditDialog visitor={visitor} onClose={close} />}
      {dialog === 'start' && (
        <Dialog title={inbox.newConversation} onClose={close}>
          <StartForm visitorId={visitor.id} onClose={close} onStarted={onStarted} />
        </Dialog>
      )}
      {dialog === 'block' && (
        <Confirm
          title={inbox.blockTitle}
          confirm={inbox.block}
          action={block}
          onConfirm={() => block.start({ params })}
          onClose={close}
        >
          {inbox.blockText}
        </Confirm>
      )}
      {dialog === 'revoke' && (
        <Confirm
          title={inbox.revokeLinks}
          confirm={inbox.revokeLinks}
          action={revocation}
          onConfirm={() => revocation.start({ params: { tenantId, id: conversation.id } })}
          onClose={close}
        >
          {inbox.revokeLinksText}
        </Confirm>
      )}
      {dialog === 'erase' && (
        <Confirm
          title={inbox.eraseTitle}
          confirm={inbox.erase}
          action={erasure}
          onConfirm={() => erasure.start({ params })}
          onClose={close}
        >
          {inbox.eraseText}
        </Confirm>
      )}
    </section>
  );
}
