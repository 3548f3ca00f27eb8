import { ApiError } from '../../../../../../shared/client/client.ts';

/** Finds what the hub says about a field of the body, such as `models[0].id`, or about a part of that field. */
export function fieldErrors(error: unknown): (path: string) => string | null {
  const details = error instanceof ApiError ? error.details : [];
  return (path) => {
    const whole = `body.${path}`;
    const detail =
      details.find((each) => each.path === whole) ??
      details.find((each) => each.path.startsWith(`${whole}.`) || each.path.startsWith(`${whole}[`));
    if (detail === undefined) return null;
    const part = detail.path.slice(whole.length).replace(/^\./, '');
    return part === '' ? detail.message : `${part}: ${detail.message}`;
  };
}
