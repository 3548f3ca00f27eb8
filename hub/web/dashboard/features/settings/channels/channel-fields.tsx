import { useWords } from '../../../app/language.tsx';
import { TextField } from '../parts/controls.tsx';
import { configFields } from './providers.ts';
import type { Config, Provider } from './providers.ts';

/** The configuration of a channel. Stored secrets are not shown; an empty field keeps them. */
export function ChannelFields({
  provider,
  config,
  set,
  secretsSet,
  errorOf,
}: {
  provider: Provider;
  config: Config;
  set: (config: Config) => void;
  secretsSet: readonly string[];
  errorOf: (path: string) => string | null;
}) {
  const { settings } = useWords();
  const words = settings.channels;
  return configFields[provider].map(({ name, isSecret, isRequired, isOwn, type }) => {
    const isSet = secretsSet.includes(name);
    return (
      <TextField
        key={name}
        label={words.fields[name]}
        hint={isSet ? words.secretSet : isOwn === true ? words.ownSecret : words.fieldHints[name]}
        // The workspace copies its own secret to the provider, so a new one stays readable.
        type={isSecret === true && !(isOwn === true && !isSet) ? 'password' : (type ?? 'text')}
        autoComplete="off"
        required={isRequired === true && !isSet}
        isOptional={isRequired !== true}
        value={config[name] ?? ''}
        error={errorOf(`config.${name}`)}
        onChange={(value) => set({ ...config, [name]: value })}
      />
    );
  });
}
