import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { useDeferredValue, useEffect, useState } from 'react';
import type { CannedReply } from '../../../../../shared/client/operations.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { fieldErrors } from '../../forms/field-errors.ts';
import { FormError } from '../../forms/form-error.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input, TextArea } from '../../ui/form.tsx';
import { readableText } from './message-text.tsx';

const shownReplies = 30;
const shortcutPattern = '[a-z0-9][a-z0-9_\\-]{0,39}';

/** Creates or changes a canned reply. */
function CannedReplyForm({ reply, onDone }: { reply: CannedReply | null; onDone: () => void }) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const done = async () => {
    await cache.invalidateQueries({ queryKey: ['listCannedReplies'] });
    onDone();
  };
  const create = useAction('createCannedReply', { onDone: done });
  const update = useAction('updateCannedReply', { onDone: done });
  const [shortcut, setShortcut] = useState(reply?.shortcut ?? '');
  // The list shows the text with the variables filled in; this one has the variables.
  const original = useQuery({
    ...query('listCannedReplies', { params: { tenantId }, query: { q: reply?.shortcut ?? '', limit: 100 } }),
    enabled: reply !== null,
  });
  const stored = original.data?.data.find(({ id }) => id === reply?.id)?.content;
  const [edited, setEdited] = useState<string | null>(null);
  const content = edited ?? stored ?? '';
  const error = create.error ?? update.error ?? original.error;
  const errorOf = fieldErrors(error);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const body = { shortcut, content };
        if (reply === null) create.start({ params: { tenantId }, body });
        else update.start({ params: { tenantId, id: reply.id }, body });
      }}
    >
      <Field label={inbox.shortcut} hint={inbox.shortcutHint} error={errorOf('shortcut')}>
        {(attributes) => (
          <Input
            {...attributes}
            value={shortcut}
            pattern={shortcutPattern}
            required
            autoFocus
            onChange={(event) => setShortcut(event.target.value)}
          />
        )}
      </Field>
      <Field label={inbox.cannedText} hint={inbox.cannedTextHint} error={errorOf('content')}>
        {(attributes) => (
          <TextArea
            {...attributes}
            data-keep={`canned reply ${reply?.id ?? 'new'}`}
            rows={5}
            dir="auto"
            value={content}
            maxLength={10_000}
            required
            disabled={reply !== null && stored === undefined}
            onChange={(event) => setEdited(event.target.value)}
          />
        )}
      </Field>
      <FormError error={error} fields={['shortcut', 'content']} />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{common.cancel}</Button>
        <Button type="submit" variant="primary" isBusy={create.isPending || update.isPending}>
          {common.save}
        </Button>
      </div>
    </form>
  );
}

/** Finds a canned reply by its shortcut or its words, and inserts it with the values of the conversation. */
export function CannedRepliesDialog({
  conversationId,
  onClose,
  onChoose,
}: {
  conversationId: string;
  onClose: () => void;
  onChoose: (text: string) => void;
}) {
  const { words, format } = useLanguage();
  const { inbox, common } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const [form, setForm] = useState<CannedReply | 'new' | null>(null);
  const q = useDeferredValue(text.trim());
  const { data, error, isPlaceholderData } = useQuery({
    ...query('listCannedReplies', {
      params: { tenantId },
      query: { conversationId, limit: shownReplies, ...(q === '' ? {} : { q }) },
    }),
    placeholderData: (previous) => previous,
  });
  const removal = useAction('deleteCannedReply', {
    async onDone() {
      await cache.invalidateQueries({ queryKey: ['listCannedReplies'] });
      setDeleting(null);
    },
  });
  const [deleting, setDeleting] = useState<CannedReply | null>(null);
  const replies = data?.data ?? [];
  const choose = (reply: CannedReply | undefined) => reply !== undefined && onChoose(reply.content);
  // Enter waits for the replies to the text that the agent sees in the field.
  const isCurrent = data !== undefined && !isPlaceholderData && q === text.trim();
  const entered = isEntered && isCurrent ? replies[selected] : undefined;
  useEffect(() => {
    choose(entered);
  }, [entered]);
  if (form !== null)
    return (
      <Dialog title={form === 'new' ? inbox.newCannedReply : inbox.editCannedReply} onClose={() => setForm(null)}>
        <CannedReplyForm reply={form === 'new' ? null : form} onDone={() => setForm(null)} />
      </Dialog>
    );
  if (deleting !== null)
    return (
      <Confirm
        title={format(inbox.deleteCannedReplyNamed, { name: deleting.shortcut })}
        confirm={common.delete}
        action={removal}
        onConfirm={() => removal.start({ params: { tenantId, id: deleting.id } })}
        onClose={() => setDeleting(null)}
      >
        {inbox.deleteCannedReplyText}
      </Confirm>
    );
  return (
    <Dialog title={inbox.cannedReplies} onClose={onClose}>
      <Input
        type="search"
        role="combobox"
        aria-label={inbox.findCannedReply}
        aria-expanded={replies.length > 0}
        aria-controls="canned-replies"
        aria-activedescendant={replies.length > 0 ? `canned-reply-${selected}` : undefined}
        placeholder={inbox.findCannedReply}
        autoFocus
        value={text}
        onChange={(event) => {
          setEntered(false);
          setText(event.target.value);
          setSelected(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setSelected((index) => Math.max(0, Math.min(replies.length - 1, index + step)));
          }
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
            event.preventDefault();
            if (isCurrent) choose(replies[selected]);
            else setEntered(true);
          }
        }}
      />
      <ErrorNote error={error} />
      <div className="mt-2 flex max-h-80 flex-col overflow-y-auto">
        <ul id="canned-replies" role="listbox" aria-label={inbox.cannedReplies}>
          {replies.map((reply, index) => (
            <li
              key={reply.id}
              id={`canned-reply-${index}`}
              role="option"
              aria-selected={index === selected}
              className="cursor-pointer rounded-(--radius-medium) px-2.5 py-1.5 hover:bg-hover aria-selected:bg-accent-muted"
              onClick={() => choose(reply)}
              // The keyboard works on the field above.
              onKeyDown={() => undefined}
            >
              <span className="font-semibold">/{reply.shortcut}</span>
              <span dir="auto" className="line-clamp-2 text-start text-sm wrap-anywhere text-text-muted">
                {readableText(reply.content)}
              </span>
            </li>
          ))}
        </ul>
        {replies.length === 0 && data !== undefined && (
          <p role="status" className="px-2.5 py-3 text-text-muted">
            {q === '' ? inbox.noCannedReplies : inbox.noCannedReplyFound}
          </p>
        )}
      </div>
      <div className="mt-3 flex items-center gap-1 border-t pt-3">
        <Button size="small" onClick={() => setForm('new')}>
          {inbox.newCannedReply}
        </Button>
        {replies[selected] !== undefined && (
          <>
            <IconButton
              label={format(inbox.editCannedReplyNamed, { name: replies[selected].shortcut })}
              className="ms-auto"
              onClick={() => setForm(replies[selected] ?? null)}
            >
              <Pencil size={15} aria-hidden />
            </IconButton>
            <IconButton
              label={format(inbox.deleteCannedReplyNamed, { name: replies[selected].shortcut })}
              onClick={() => setDeleting(replies[selected] ?? null)}
            >
              <Trash2 size={15} aria-hidden />
            </IconButton>
          </>
        )}
      </div>
    </Dialog>
  );
}
