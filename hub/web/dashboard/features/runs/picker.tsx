import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { WorkflowSummary } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useWords } from '../../app/language.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Input } from '../../ui/form.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';

/** Results that a search shows. */
const shownResults = 20;
/** Nodes that are read to be searched. */
const maxNodes = 100;

interface Choice {
  id: string;
  name: string;
  aside?: ReactNode;
}

function Choices({
  label,
  text,
  onText,
  isCurrent = true,
  choices,
  onChoose,
  empty,
  children,
}: {
  label: string;
  text: string;
  onText: (text: string) => void;
  /** Whether the choices are those of the text. */
  isCurrent?: boolean;
  choices: readonly Choice[] | undefined;
  onChoose: (choice: Choice) => void;
  /** What is shown if there is nothing to choose from. */
  empty: ReactNode;
  children?: ReactNode;
}) {
  const { runs } = useWords();
  const [isEntered, setEntered] = useState(false);
  // Enter waits for the choices of the text in the field.
  const entered = isEntered && isCurrent && text.trim() !== '' ? choices?.[0] : undefined;
  useEffect(() => {
    if (entered !== undefined) onChoose(entered);
  }, [entered?.id]);
  return (
    <>
      <Input
        type="search"
        aria-label={label}
        placeholder={runs.findByName}
        autoFocus
        value={text}
        onChange={(event) => {
          setEntered(false);
          onText(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) setEntered(true);
        }}
      />
      {children}
      <ul aria-label={label} className="mt-2 max-h-80 min-h-24 overflow-y-auto">
        {choices?.map((choice) => (
          <li key={choice.id}>
            <button
              type="button"
              className="flex w-full items-center gap-2 rounded-(--radius-medium) px-2.5 py-1.5 text-start hover:bg-hover"
              onClick={() => onChoose(choice)}
            >
              <span className="min-w-0 wrap-anywhere">{visibleLine(choice.name)}</span>
              <span className="ms-auto">{choice.aside}</span>
            </button>
          </li>
        ))}
      </ul>
      {choices?.length === 0 && (
        <div role="status" className="pb-4 text-text-muted">
          {text === '' ? empty : runs.nothingFound}
        </div>
      )}
    </>
  );
}

/** Finds a workflow by its name. */
export function WorkflowChoices({ onChoose }: { onChoose: (workflow: WorkflowSummary) => void }) {
  const { runs, common } = useWords();
  const [text, setText] = useState('');
  const q = useDeferredValue(text.trim());
  const found = useQuery({
    ...query('listAutomationWorkflowSummaries', {
      query: { sort: 'name', limit: shownResults, ...(q === '' ? {} : { q: q.slice(0, 200) }) },
    }),
    placeholderData: (previous) => previous,
  });
  return (
    <Loaded of={found}>
      {({ data, meta }) => (
        <Choices
          label={runs.chooseWorkflow}
          text={text}
          onText={setText}
          empty={
            <>
              {runs.noWorkflows}{' '}
              <TextLink isInText to="/workflows/$workflowId/{-$tab}" params={{ workflowId: 'new' }}>
                {runs.createWorkflow}
              </TextLink>
            </>
          }
          isCurrent={!found.isPlaceholderData && q === text.trim()}
          choices={data.map(({ id, name, active }) => ({
            id,
            name,
            aside: active ? undefined : <Pill tone="neutral">{common.status.inactive}</Pill>,
          }))}
          onChoose={({ id }) => {
            const workflow = data.find((one) => one.id === id);
            if (workflow !== undefined) onChoose(workflow);
          }}
        >
          {meta.nextCursor !== null && <p className="mt-1 text-sm text-text-muted">{runs.moreExist}</p>}
        </Choices>
      )}
    </Loaded>
  );
}

export function WorkflowPicker({ onChoose, onClose }: { onChoose: (id: string) => void; onClose: () => void }) {
  const { chooseWorkflow } = useWords().runs;
  return (
    <Dialog title={chooseWorkflow} onClose={onClose}>
      <WorkflowChoices onChoose={({ id }) => onChoose(id)} />
    </Dialog>
  );
}

export function NodePicker({ onChoose, onClose }: { onChoose: (id: string) => void; onClose: () => void }) {
  const { chooseNode, noNodes } = useWords().runs;
  const [text, setText] = useState('');
  const nodes = useQuery(query('listAutomationNodes', { query: { limit: maxNodes } }));
  const q = text.trim().toLowerCase();
  return (
    <Dialog title={chooseNode} onClose={onClose}>
      <Loaded of={nodes}>
        {({ data }) => (
          <Choices
            label={chooseNode}
            empty={noNodes}
            text={text}
            onText={setText}
            choices={data
              .filter(({ name }) => name.toLowerCase().includes(q))
              .map(({ id, name, status }) => ({ id, name, aside: <StatusPill status={status} /> }))}
            onChoose={({ id }) => onChoose(id)}
          />
        )}
      </Loaded>
    </Dialog>
  );
}
