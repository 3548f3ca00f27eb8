import { useQueryClient } from '@tanstack/react-query';
import { useBlocker, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { JsonObject, Workflow } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { keyOf, query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextArea } from '../../ui/form.tsx';
import { showToast } from '../../ui/toasts.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { EditorProblems } from './editor-problems.tsx';
import { jsonErrorAt, lineAt } from './json-locator.ts';
import { asCreateBody, asUpdateBody, documentOf, newDocument, textOf } from './workflow-document.ts';

/** Parses the text. @returns the document, or why it is none. */
function parse(text: string): JsonObject | Error | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch (error) {
    return error as Error;
  }
}

/** Edits a workflow as JSON text, or creates one. The hub validates it; problems lead to their place in the text. */
export function WorkflowEditor({ workflow }: { workflow: Workflow | null }) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const field = useRef<HTMLTextAreaElement>(null);
  const initial = textOf(workflow === null ? newDocument : documentOf(workflow));
  const [base, setBase] = useState({ text: initial, version: workflow?.version });
  const [text, setText] = useState(initial);
  const [problem, setProblem] = useState<string | null>(null);
  const [newest, setNewest] = useState<Workflow | null>(null);
  const isDirty = text !== base.text;
  const dirty = useRef(isDirty);
  dirty.current = isDirty;
  /** The text that is being saved, or was saved last. */
  const sent = useRef(initial);

  // Someone else saved. Without own changes, the newest text is shown; with own changes, the save reports the conflict.
  useEffect(() => {
    if (workflow === null || workflow.version === base.version || dirty.current) return;
    const next = textOf(documentOf(workflow));
    setBase({ text: next, version: workflow.version });
    setText(next);
  }, [workflow?.version]);

  const saved = (answer: Workflow) => {
    const next = textOf(documentOf(answer));
    cache.setQueryData(keyOf('getAutomationWorkflow', { params: { id: answer.id } }), answer);
    setBase({ text: next, version: answer.version });
    // What was typed while the hub saved stays, as a change of the new version.
    setText((now) => (now === sent.current ? next : now));
    setNewest(null);
    dirty.current = field.current?.value !== sent.current;
    reread(cache, ['listAutomationWorkflowSummaries', 'listAutomationWorkflowVersions']);
    showToast(format(texts.savedAs, { version: String(answer.version) }));
  };
  const create = useAction('createAutomationWorkflow', {
    onDone: (answer) => {
      saved(answer);
      background(navigate({ to: '/workflows/$workflowId/{-$tab}', params: { workflowId: answer.id } }));
    },
  });
  const update = useAction('updateAutomationWorkflow', { onDone: saved });
  const error = create.error ?? update.error;
  const isBusy = create.isPending || update.isPending;
  const isConflict = error instanceof ApiError && error.code === 'version_conflict';
  useEffect(() => {
    if (!isConflict || workflow === null) return;
    const read = cache.fetchQuery({ ...query('getAutomationWorkflow', { params: { id: workflow.id } }), staleTime: 0 });
    background(read.then(setNewest));
  }, [isConflict]);

  const select = (from: number, to: number) => {
    const area = field.current;
    if (area === null) return;
    area.focus();
    area.setSelectionRange(from, to);
    // Browsers do not scroll a text area to its selection.
    const line = text.slice(0, from).split('\n').length;
    area.scrollTop = Math.max(0, (line - 5) * (area.scrollHeight / text.split('\n').length));
  };

  // The second click of a double click arrives before the button is disabled.
  const isSaving = useRef(false);
  if (!isBusy) isSaving.current = false;
  const save = (version = base.version) => {
    const document = parse(text);
    if (isSaving.current) return;
    create.reset();
    update.reset();
    if (document === null) return setProblem(texts.noObject);
    if (document instanceof Error) {
      const at = jsonErrorAt(text);
      select(at, at + 1);
      return setProblem(format(texts.invalidJson, { line: String(lineAt(text, at)), message: document.message }));
    }
    setProblem(null);
    isSaving.current = true;
    sent.current = text;
    if (workflow === null) create.start({ body: asCreateBody(document) });
    else update.start({ params: { id: workflow.id }, body: asUpdateBody(document) }, version);
  };
  const canSave = !isBusy && (workflow === null || isDirty);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canSave) save();
      }}
      onKeyDown={(event) => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (canSave) save();
      }}
    >
      <p className="mb-2 text-sm text-text-muted">
        {texts.editHint} {workflow?.triggerJson.type === 'webhook' && texts.editToken}{' '}
        <a className="text-accent underline" href="/docs" target="_blank" rel="noreferrer">
          {texts.reference}
        </a>
      </p>
      <TextArea
        ref={field}
        data-keep="workflow"
        aria-label={texts.document}
        aria-invalid={problem !== null || error !== null || undefined}
        className="h-[60vh] min-h-64 font-mono text-sm"
        spellCheck={false}
        autoCapitalize="off"
        dir="ltr"
        wrap="off"
        // The page of the new workflow replaces this one when it is created.
        readOnly={create.isPending}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {problem !== null && (
        <p role="alert" className="mt-2 text-danger">
          {problem}
        </p>
      )}
      {isConflict ? (
        <Conflict newest={newest} isBusy={isBusy} onOverwrite={() => save(newest?.version)} />
      ) : (
        <EditorProblems error={error} text={text} onSelect={select} />
      )}
      <div className="mt-3 flex flex-wrap items-center justify-end gap-2">
        {workflow !== null && !isDirty && <span className="me-auto text-sm text-text-muted">{texts.noChange}</span>}
        <Button
          disabled={isBusy}
          onClick={() => {
            const document = parse(text);
            if (document instanceof Error) setProblem(format(texts.invalidJson, { message: document.message }));
            else if (document !== null) {
              setProblem(null);
              setText(textOf(document));
            }
          }}
        >
          {texts.format}
        </Button>
        <Button variant="primary" type="submit" isBusy={isBusy} disabled={!canSave}>
          {workflow === null ? texts.createNow : words.common.save}
        </Button>
      </div>
      <LeaveGuard isDirty={() => dirty.current} />
    </form>
  );
}

/** Someone else saved a newer version while this text was edited. */
function Conflict({
  newest,
  isBusy,
  onOverwrite,
}: {
  newest: Workflow | null;
  isBusy: boolean;
  onOverwrite: () => void;
}) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const [isOpen, setOpen] = useState(false);
  return (
    <div role="alert" className="mt-2 rounded-(--radius-medium) bg-warning-muted px-3 py-2 text-warning">
      <p className="mb-2">{format(texts.conflict, { version: newest === null ? '…' : String(newest.version) })}</p>
      <div className="flex flex-wrap gap-2">
        <Button size="small" disabled={newest === null} onClick={() => setOpen(true)}>
          {texts.conflictCompare}
        </Button>
        <Button size="small" isBusy={isBusy} disabled={newest === null} onClick={onOverwrite}>
          {texts.conflictOverwrite}
        </Button>
      </div>
      {isOpen && newest !== null && (
        <Dialog title={texts.newest} isWide onClose={() => setOpen(false)}>
          <CodeBlock label={texts.newest} text={textOf(documentOf(newest))} />
        </Dialog>
      )}
    </div>
  );
}

/** Asks before a page with unsaved text is left. */
function LeaveGuard({ isDirty }: { isDirty: () => boolean }) {
  const texts = useLanguage().words.workflows;
  const blocker = useBlocker({ shouldBlockFn: isDirty, enableBeforeUnload: isDirty, withResolver: true });
  if (blocker.status !== 'blocked') return null;
  return (
    <Dialog title={texts.leaveTitle} onClose={blocker.reset}>
      <p className="mb-4 text-text-muted">{texts.leaveText}</p>
      <div className="flex justify-end gap-2">
        <Button onClick={blocker.reset}>{texts.stay}</Button>
        <Button variant="danger" onClick={blocker.proceed}>
          {texts.leave}
        </Button>
      </div>
    </Dialog>
  );
}
