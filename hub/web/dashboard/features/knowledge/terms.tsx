import { useState } from 'react';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea } from '../../ui/form.tsx';
import { Card } from '../../ui/layout.tsx';

/** The text that is part of every prompt. */
export function Terms({
  terms,
  isSaving,
  onSave,
}: {
  terms: string;
  isSaving: boolean;
  onSave: (terms: string) => void;
}) {
  const texts = useLanguage().words.knowledge;
  const isAdmin = useIsAdmin();
  const [text, setText] = useState(terms);
  return (
    <Card className="p-4">
      <Field label={texts.terms} hint={isAdmin ? texts.termsHint : texts.onlyAdmins}>
        {(attributes) => (
          <TextArea
            {...attributes}
            rows={5}
            maxLength={20_000}
            readOnly={!isAdmin}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      {isAdmin && (
        <Button isBusy={isSaving} disabled={text === terms} onClick={() => onSave(text)}>
          {texts.saveTerms}
        </Button>
      )}
    </Card>
  );
}
