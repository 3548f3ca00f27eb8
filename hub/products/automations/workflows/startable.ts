import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';

/** Refuses steps that could not run. @throws AppError that names the path of each problem. */
export type StepValidator = (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;

/** What of a webhook token is stored for finding its workflow. */
export const webhookTokenHash = (token: string) => createHash('sha256').update(token).digest();

/** What a run needs of its workflow, checked again at its start: entitlements may have changed since it was saved. */
export function assertStartable(
  workflow: { id: string; active: boolean; steps: readonly Step[] },
  entitlements: Record<Entitlement, boolean>,
  validateSteps: StepValidator,
): void {
  if (!entitlements.automations)
    throw new AppError('product_not_entitled', 'This workspace is not entitled to automations.');
  if (!workflow.active)
    throw new AppError(
      'workflow_inactive',
      `The workflow ${workflow.id} is not active; PATCH it with {"active": true} first.`,
    );
  validateSteps(workflow.steps, entitlements);
}
