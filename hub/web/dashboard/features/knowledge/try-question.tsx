import { useState } from 'react';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Input } from '../../ui/form.tsx';
import { Section } from '../../ui/layout.tsx';

/** Shows which entries an AI agent would get for a question. */
export function TryQuestion() {
  const { words } = useLanguage();
  const texts = words.knowledge;
  const tenantId = useTenantId();
  const [question, setQuestion] = useState('');
  const action = useAction('searchKnowledge');
  return (
    <Section title={texts.try}>
      <form
        className="flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (question.trim() !== '') action.start({ params: { tenantId }, body: { question: question.trim() } });
        }}
      >
        <Input
          aria-label={texts.question}
          maxLength={1_000}
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
        />
        <Button type="submit" isBusy={action.isPending}>
          {texts.ask}
        </Button>
      </form>
      <ErrorNote error={action.error} />
      {action.data !== undefined && (
        <div role="status" className="mt-3">
          {action.data.passages.length === 0 ? (
            <p className="text-text-muted">{texts.noPassages}</p>
          ) : (
            <>
              <p className="mb-2 text-sm text-text-muted">{texts.passages}</p>
              <ol className="flex flex-col gap-2">
                {action.data.passages.map(({ id, question: of, answer }) => (
                  <li key={id} className="rounded-(--radius-medium) bg-surface-muted p-2.5">
                    <p className="font-semibold wrap-anywhere">{visibleLine(of)}</p>
                    <p className="line-clamp-4 text-sm wrap-anywhere whitespace-pre-wrap">{visibleText(answer)}</p>
                  </li>
                ))}
              </ol>
            </>
          )}
        </div>
      )}
    </Section>
  );
}
