import type { sessions as english } from '../english/sessions.ts';

/** Texts of the sessions pages. */
export const sessions: typeof english = {
  missing: 'لا توجد جلسة بهذا المعرّف',
  empty: 'لا توجد جلسات بعد',
  emptyText:
    'تحفظ الجلسة الرسائل بين شخص أو مجموعة ووكيل ذكاء اصطناعي. تظهر الجلسات هنا عندما تستخدمها مسارات العمل أو القنوات.',
  session: 'الجلسة',
  scope: 'النطاق',
  changed: 'آخر رسالة',
  messages: 'الرسائل',
  parts: 'أجزاء الجلسة',
  json: 'JSON',
  noMessages: 'لا توجد رسائل في هذه الجلسة.',
  summary: 'ملخص الرسائل السابقة',
  run: 'عملية التشغيل',
  allScopes: 'كل النطاقات',
  scopes: {
    dm: 'شخص',
    group: 'مجموعة',
    run: 'عملية تشغيل',
    channel: 'قناة',
    workspace: 'مساحة العمل',
  },
  roles: {
    user: 'المستخدم',
    assistant: 'وكيل الذكاء الاصطناعي',
    system: 'النظام',
  },
};
