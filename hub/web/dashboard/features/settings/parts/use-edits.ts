import { useState } from 'react';
import { ApiError } from '../../../../../../shared/client/client.ts';
import { useWords } from '../../../app/language.tsx';
import { fieldErrors, isWithin } from '../../../forms/field-errors.ts';
import { showToast } from '../../../ui/toasts.tsx';

/** Attempts to save an object that others change at the same time. */
const maxAttempts = 3;

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

interface EditsOptions<Value> {
  /** What the hub has now. */
  current: Value;
  /** Reads from the hub what it has now. */
  reload: () => Promise<Value>;
  /**
   * Stores the whole value; `changes` has only the edited fields. Updates the cached response. May send `If-Match` with
   * the version of `reload`.
   */
  save: (value: Value, changes: Partial<Value>) => Promise<unknown>;
}

export interface Edits<Value> {
  /** What the hub has, with the edits of the user. */
  value: Value;
  set: (changes: Partial<Value>) => void;
  isChanged: boolean;
  isSaving: boolean;
  error: unknown;
  /** What the hub says about a field, such as `models[0].id`. */
  errorOf: (path: string) => string | null;
  /** The fields that the hub refused, if the form shows every reason beside its field; else null. */
  refusedFields: () => (keyof Value)[] | null;
  /** Edited fields that someone else changed since. */
  conflicts: (keyof Value)[];
  keepMine: () => void;
  useTheirs: () => void;
  discard: () => void;
  submit: () => Promise<void>;
}

/**
 * Edits of a settings object. Fields that the user did not touch follow the hub. Before saving, the object is read
 * again: an edited field that someone else changed meanwhile is a conflict, and the user decides. A change between the
 * reading and the saving is found by `If-Match`.
 */
export function useEdits<Value extends object>({ current, reload, save }: EditsOptions<Value>): Edits<Value> {
  const { common } = useWords();
  const [edits, setEdits] = useState<Partial<Value>>({});
  /** The value of each edited field when the user began to edit it. */
  const [bases, setBases] = useState<Partial<Value>>({});
  const [isSaving, setSaving] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const edited = (Object.keys(edits) as (keyof Value)[]).filter((name) => !isSame(edits[name], bases[name]));
  const conflictsWith = (theirs: Value) =>
    edited.filter((name) => !isSame(theirs[name], bases[name]) && !isSame(theirs[name], edits[name]));
  const discard = () => {
    setEdits({});
    setBases({});
    setError(null);
  };
  const conflicts = conflictsWith(current);
  const errorOf = fieldErrors(error);
  /** The fields beside which the form shows what the hub says. */
  const shown: string[] = [];
  const withoutConflicts = (from: Partial<Value>) =>
    Object.fromEntries(
      Object.entries(from).filter(([name]) => !conflicts.includes(name as keyof Value)),
    ) as Partial<Value>;
  return {
    value: { ...current, ...edits },
    set: (changes) => {
      const names = Object.keys(changes) as (keyof Value)[];
      const missing = names.filter((name) => !(name in bases));
      if (missing.length > 0)
        setBases({ ...bases, ...Object.fromEntries(missing.map((name) => [name, current[name]])) });
      setEdits({ ...edits, ...changes });
    },
    isChanged: edited.length > 0,
    isSaving,
    error,
    errorOf: (path) => {
      shown.push(path);
      return errorOf(path);
    },
    refusedFields: () => {
      const details = error instanceof ApiError ? error.details : [];
      const isShown = details.every(({ path }) => shown.some((field) => isWithin(path, field)));
      if (details.length === 0 || !isShown) return null;
      return (Object.keys(current) as (keyof Value)[]).filter((name) =>
        details.some(({ path }) => isWithin(path, String(name))),
      );
    },
    conflicts,
    keepMine: () => setBases({ ...bases, ...Object.fromEntries(conflicts.map((name) => [name, current[name]])) }),
    useTheirs: () => {
      setEdits(withoutConflicts(edits));
      setBases(withoutConflicts(bases));
    },
    discard,
    submit: async () => {
      setSaving(true);
      setError(null);
      try {
        const changes = Object.fromEntries(edited.map((name) => [name, edits[name]])) as Partial<Value>;
        for (let attempt = 1; ; attempt += 1) {
          const theirs = await reload();
          if (conflictsWith(theirs).length > 0) return;
          try {
            await save({ ...theirs, ...changes }, changes);
            break;
          } catch (failure) {
            // Someone else saved after the reload. Their other fields are kept, the same fields are a conflict.
            const isOutdated = failure instanceof ApiError && failure.code === 'version_conflict';
            if (!isOutdated || attempt === maxAttempts) throw failure;
          }
        }
        discard();
        showToast(common.saved);
      } catch (failure) {
        setError(failure);
      } finally {
        setSaving(false);
      }
    },
  };
}
