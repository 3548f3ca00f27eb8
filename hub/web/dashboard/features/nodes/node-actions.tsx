import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { keyOf, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { fieldErrors } from '../../forms/field-errors.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { showToast } from '../../ui/toasts.tsx';

/** Changes a node and shows the result everywhere. */
export function useUpdateNode(onDone?: () => void) {
  const cache = useQueryClient();
  return useAction('updateAutomationNode', {
    onDone: (node) => {
      cache.setQueryData(keyOf('getAutomationNode', { params: { id: node.id } }), node);
      reread(cache, ['listAutomationNodes', 'listAutomationNodeFacts']);
      onDone?.();
    },
  });
}

/** Tags as they are typed, between spaces or commas. */
const tagsOf = (text: string) => [...new Set(text.split(/[\s,،]+/u).filter((tag) => tag !== ''))];

function EditDialog({ node, onClose }: { node: Node; onClose: () => void }) {
  const { words } = useLanguage();
  const { nodes, common } = words;
  const [name, setName] = useState(node.name);
  const [tagText, setTagText] = useState(node.tags.join(' '));
  const tags = tagsOf(tagText);
  const update = useUpdateNode(() => {
    showToast(nodes.saved);
    onClose();
  });
  const tagsError = fieldErrors(update.error)('tags');
  const changes = {
    ...(name.trim() === node.name ? {} : { name: name.trim() }),
    ...(tags.join(' ') === node.tags.join(' ') ? {} : { tags }),
  };
  return (
    <Dialog title={nodes.edit} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          update.start({ params: { id: node.id }, body: changes });
        }}
      >
        <Field label={nodes.name} hint={nodes.renameHint}>
          {(attributes) => (
            <Input
              {...attributes}
              value={name}
              maxLength={200}
              required
              autoFocus
              autoComplete="off"
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field label={nodes.tags} hint={nodes.tagsHint} error={tagsError} isOptional>
          {(attributes) => (
            <Input
              {...attributes}
              value={tagText}
              maxLength={2_000}
              dir="auto"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              onChange={({ target }) => setTagText(target.value)}
            />
          )}
        </Field>
        {tagsError === null && <ErrorNote error={update.error} />}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button
            type="submit"
            variant="primary"
            isBusy={update.isPending}
            disabled={name.trim() === '' || Object.keys(changes).length === 0}
          >
            {common.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function RevokeDialog({ node, onClose }: { node: Node; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { nodes } = words;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const revoke = useAction('deleteAutomationNode', {
    onDone: () => {
      showToast(format(nodes.revoked, { name: visibleLine(node.name) }));
      reread(cache, ['listAutomationNodes', 'getAutomationNode', 'listAutomationNodeCommands']);
      background(navigate({ to: '/nodes' }));
    },
  });
  const isPending = node.status === 'pending' && node.pairedAt === null;
  return (
    <Confirm
      title={format(isPending ? nodes.deleteCodeTitle : nodes.revokeTitle, { name: visibleLine(node.name) })}
      confirm={isPending ? nodes.deleteCode : nodes.revoke}
      action={revoke}
      onConfirm={() => revoke.start({ params: { id: node.id } })}
      onClose={onClose}
    >
      {isPending ? nodes.deleteCodeText : nodes.revokeText}
    </Confirm>
  );
}

/** Buttons for what a person can do with a node. */
export function NodeActions({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes, common } = words;
  const isAdmin = useIsAdmin();
  const [open, setOpen] = useState<'edit' | 'revoke' | null>(null);
  if (node.status === 'revoked') return null;
  const reason = isAdmin ? {} : { disabled: true, title: common.notAllowed };
  const isPending = node.status === 'pending' && node.pairedAt === null;
  return (
    <>
      {!isPending && (
        <ButtonLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id, tab: 'console' }}>
          {nodes.tryCommand}
        </ButtonLink>
      )}
      <Button onClick={() => setOpen('edit')} {...reason}>
        {nodes.edit}
      </Button>
      <Button variant="danger" onClick={() => setOpen('revoke')} {...reason}>
        {isPending ? nodes.deleteCode : nodes.revoke}
      </Button>
      {open === 'edit' && <EditDialog node={node} onClose={() => setOpen(null)} />}
      {open === 'revoke' && <RevokeDialog node={node} onClose={() => setOpen(null)} />}
    </>
  );
}
