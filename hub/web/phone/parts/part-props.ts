import type { Phone } from '../phone.ts';
import type { PhoneState } from '../state.ts';

/** Props that all parts of the page take. */
export interface PartProps {
  phone: Phone;
  state: PhoneState;
}
