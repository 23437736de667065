! tacit in Fortran: the module over the C library. doc/fortran.md explains it; the rules are those of tacit/tacit.h.
!
! Arrays are by columns, indices begin with 1, and the last index of a range is in it: everywhere, also in mappers and chunks.
! Dimension d of an array of rank n is dimension n - d of the buffer; elements lie in memory as Fortran has them. A task's range
! is split over nodes along its last dimension.
module tacit
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
   implicit none
   private

   public :: tacit_context, tacit_buffer, tacit_access, tacit_init, tacit_finalize, tacit_wait, tacit_barrier
   public :: tacit_node, tacit_num_nodes
   public :: tacit_buffer_create, tacit_buffer_destroy, tacit_fill, tacit_fence_read, tacit_submit, tacit_last_error
   public :: tacit_read, tacit_write, tacit_update, tacit_reduce, tacit_mapper
   public :: one_to_one, all_of_it, replicated, fixed, slice, neighborhood, star, periodic, transposed
   public :: tacit_chunk, tacit_view, tacit_args, tacit_launch_node, tacit_kernel_fail
   public :: tacit_buffer_resize, tacit_weights, tacit_weights_create, tacit_weights_destroy
   public :: tacit_program, tacit_program_create, tacit_program_destroy
   public :: tacit_mapper_create, tacit_mapper_destroy, tacit_add_box
   public :: TACIT_ON_DEVICES, TACIT_ON_HOST, TACIT_ON_ONE_NODE, TACIT_ON_EVERY_NODE, TACIT_SPLIT_1D, TACIT_SPLIT_2D
   public :: TACIT_OP_SUM, TACIT_OP_PRODUCT, TACIT_OP_MIN, TACIT_OP_MAX, TACIT_INT32, TACIT_INT64, TACIT_FLOAT, TACIT_DOUBLE
   public :: TACIT_COLOURS_HEAT, TACIT_COLOURS_GREY, TACIT_COLOURS_SIGNED

   type :: tacit_context
      type(c_ptr) :: handle = c_null_ptr
   end type

   type :: tacit_buffer
      type(c_ptr) :: handle = c_null_ptr
   end type

   ! Weights of items, by which tasks are split; made by tacit_weights_create.
   type :: tacit_weights
      type(c_ptr) :: handle = c_null_ptr
   end type

   ! A range mapper; made by the functions below.
   type :: tacit_mapper
      integer :: kind = 0
      integer(int64) :: arg(6) = 0
   end type

   ! A kernel for OpenCL or CUDA devices; made by tacit_program_create.
   type :: tacit_program
      type(c_ptr) :: handle = c_null_ptr
   end type

   ! A buffer, a mode and a mapper; made by tacit_read, tacit_write, tacit_update and tacit_reduce.
   type, bind(c) :: tacit_access
      type(c_ptr) :: buffer
      integer(c_int32_t) :: mode, mapper
      integer(c_int64_t) :: arg(6)
   end type

   ! The numbers of the headers are asked for by their names when tacit starts.
   integer, protected :: TACIT_ON_DEVICES, TACIT_ON_HOST, TACIT_ON_ONE_NODE, TACIT_ON_EVERY_NODE, TACIT_SPLIT_1D, TACIT_SPLIT_2D
   integer, protected :: TACIT_OP_SUM, TACIT_OP_PRODUCT, TACIT_OP_MIN, TACIT_OP_MAX
   integer, protected :: TACIT_INT32, TACIT_INT64, TACIT_FLOAT, TACIT_DOUBLE
   integer, protected :: TACIT_COLOURS_HEAT, TACIT_COLOURS_GREY, TACIT_COLOURS_SIGNED
   integer, protected :: mode_read, mode_write, mode_update, mode_reduce
   integer, protected :: map_one_to_one, map_all, map_fixed, map_slice, map_neighborhood, map_star
   integer, protected :: map_transposed, map_replicated, map_periodic, map_custom

   ! Where and how a task runs, as the C side takes it.
   type, bind(c) :: how
      integer(c_int) :: on, split, node, owner, priority ! node, owner: -1: not given
      logical(c_bool) :: pure, whole_chunk
      type(c_ptr) :: args, item_weights
      integer(c_size_t) :: args_size
      type(c_ptr) :: opencl, cuda
   end type

   abstract interface
      subroutine tacit_kernel(k) bind(c)
         import :: c_ptr
         type(c_ptr), value :: k
      end subroutine
   end interface

   ! A custom mapper: what the items from lower(d) to upper(d) touch of a buffer of this shape, by calls of tacit_add_box with
   ! `answer`. `data` is what tacit_mapper_create got. Pure: the same at any time, on all nodes and on any thread.
   abstract interface
      subroutine tacit_mapping(lower, upper, shape, data, answer) bind(c)
         import :: c_ptr, c_int64_t
         integer(c_int64_t), intent(in) :: lower(3), upper(3), shape(3)
         type(c_ptr), value :: data, answer
      end subroutine
   end interface

   interface
      integer(c_int) function c_init(ctx) bind(c, name="tacit_bind_init")
         import :: c_int, c_ptr
         type(c_ptr), intent(out) :: ctx
      end function
      logical(c_bool) function c_constant(name, value) bind(c, name="tacit_bind_constant")
         import :: c_bool, c_char, c_int64_t
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int64_t), intent(out) :: value
      end function
      integer(c_int) function c_finalize(ctx) bind(c, name="tacit_finalize")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
      end function
      integer(c_int) function c_wait(ctx) bind(c, name="tacit_wait")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
      end function
      integer(c_int) function c_barrier(ctx) bind(c, name="tacit_barrier")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
      end function
      integer(c_int) function c_node(ctx) bind(c, name="tacit_node")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
      end function
      integer(c_int) function c_num_nodes(ctx) bind(c, name="tacit_num_nodes")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
      end function
      type(c_ptr) function c_last_error(ctx) bind(c, name="tacit_last_error")
         import :: c_ptr
         type(c_ptr), value :: ctx
      end function
      integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
         import :: c_size_t, c_ptr
         type(c_ptr), value :: text
      end function
      integer(c_int) function c_create(ctx, name, rank, shape, elem_size, init, buffer) bind(c, name="tacit_fortran_buffer_create")
         import :: c_int, c_ptr, c_char, c_int64_t, c_size_t
         type(c_ptr), value :: ctx
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int), value :: rank
         integer(c_int64_t), intent(in) :: shape(*)
         integer(c_size_t), value :: elem_size
         type(*), dimension(..), contiguous, intent(in), optional :: init
         type(c_ptr), intent(out) :: buffer
      end function
      integer(c_int) function c_destroy(ctx, buffer) bind(c, name="tacit_buffer_destroy")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx, buffer
      end function
      integer(c_int) function c_resize(ctx, buffer, rank, shape) bind(c, name="tacit_fortran_resize")
         import :: c_int, c_ptr, c_int64_t
         type(c_ptr), value :: ctx, buffer
         integer(c_int), value :: rank
         integer(c_int64_t), intent(in) :: shape(*)
      end function
      integer(c_int) function c_weights(ctx, count, weight, weights) bind(c, name="tacit_fortran_weights_create")
         import :: c_int, c_ptr, c_int64_t
         type(c_ptr), value :: ctx
         integer(c_int64_t), value :: count
         integer(c_int64_t), intent(in) :: weight(*)
         type(c_ptr), intent(out) :: weights
      end function
      integer(c_int) function c_weights_destroy(ctx, weights) bind(c, name="tacit_weights_destroy")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx, weights
      end function
      integer(c_int) function c_mapper(ctx, function, rank, data, constant, handle) bind(c, name="tacit_fortran_mapper_create")
         import :: c_int, c_ptr, c_funptr, c_bool
         type(c_ptr), value :: ctx, data
         type(c_funptr), value :: function
         integer(c_int), value :: rank
         logical(c_bool), value :: constant
         integer(c_int), intent(out) :: handle
      end function
      integer(c_int) function c_mapper_destroy(ctx, handle) bind(c, name="tacit_mapper_destroy")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
         integer(c_int), value :: handle
      end function
      subroutine c_add_box(answer, lower, upper) bind(c, name="tacit_fortran_add_box")
         import :: c_ptr, c_int64_t
         type(c_ptr), value :: answer
         integer(c_int64_t), intent(in) :: lower(*), upper(*)
      end subroutine
      integer(c_int) function c_read(ctx, buffer, array) bind(c, name="tacit_fortran_read")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx, buffer
         type(*), dimension(..), contiguous, intent(inout) :: array
      end function
      integer(c_int) function c_submit(ctx, name, rank, shape, kernel, accesses, list, h) bind(c, name="tacit_fortran_submit")
         import :: c_int, c_ptr, c_char, c_int64_t, c_funptr, tacit_access, how
         type(c_ptr), value :: ctx
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int), value :: rank
         integer(c_int64_t), intent(in) :: shape(*)
         type(c_funptr), value :: kernel
         integer(c_int), value :: accesses
         type(tacit_access), intent(in) :: list(*)
         type(how), intent(in) :: h
      end function
      integer(c_int) function c_fill(ctx, buffer, value) bind(c, name="tacit_fortran_fill")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx, buffer
         type(*), dimension(..), intent(in) :: value
      end function
      type(c_ptr) function c_program(source, entry, groups, group) bind(c, name="tacit_fortran_program_create")
         import :: c_int, c_ptr, c_char, c_int64_t
         character(kind=c_char), intent(in) :: source(*), entry(*)
         integer(c_int), value :: groups
         integer(c_int64_t), intent(in) :: group(*)
      end function
      subroutine c_program_destroy(p) bind(c, name="tacit_fortran_program_destroy")
         import :: c_ptr
         type(c_ptr), value :: p
      end subroutine
      subroutine c_chunk(k, lower, upper) bind(c, name="tacit_fortran_chunk")
         import :: c_ptr, c_int64_t
         type(c_ptr), value :: k
         integer(c_int64_t), intent(out) :: lower(3), upper(3)
      end subroutine
      type(c_ptr) function c_args(k) bind(c, name="tacit_fortran_args")
         import :: c_ptr
         type(c_ptr), value :: k
      end function
      integer(c_int) function c_launch_node(k) bind(c, name="tacit_fortran_launch_node")
         import :: c_int, c_ptr
         type(c_ptr), value :: k
      end function
      type(c_ptr) function c_view(k, index, shape, lower, count) bind(c, name="tacit_fortran_view")
         import :: c_ptr, c_int, c_int64_t
         type(c_ptr), value :: k
         integer(c_int), value :: index
         integer(c_int64_t), intent(out) :: shape(3), lower(3), count(3)
      end function
      integer(c_int) function c_view_elem_size(k, index) bind(c, name="tacit_fortran_view_elem_size")
         import :: c_ptr, c_int
         type(c_ptr), value :: k
         integer(c_int), value :: index
      end function
      subroutine c_fail(k, text) bind(c, name="tacit_bind_fail")
         import :: c_ptr, c_char
         type(c_ptr), value :: k
         character(kind=c_char), intent(in) :: text(*)
      end subroutine
   end interface

   ! In a kernel: a pointer to what access number `index`, from 1, gives. Its bounds are the buffer's indices.
   interface tacit_view
      module procedure view_r8_0, view_r8_1, view_r8_2, view_r8_3, view_r4_0, view_r4_1, view_r4_2, view_r4_3
      module procedure view_i4_0, view_i4_1, view_i4_2, view_i4_3, view_i8_0, view_i8_1, view_i8_2, view_i8_3
   end interface

contains

   ! ---- begin and end. Without `status`, an error is said on standard error, and the program ends.

   subroutine conclude(handle, code, status)
      type(c_ptr), intent(in) :: handle
      integer(c_int), intent(in) :: code
      integer, intent(out), optional :: status
      if (present(status)) then
         status = code
      else if (code /= 0) then
         write (error_unit, '(a)') sentence(handle)
         error stop 1, quiet=.true.
      end if
   end subroutine

   function sentence(handle) result(text)
      type(c_ptr), intent(in) :: handle
      character(:), allocatable :: text
      character(kind=c_char), pointer :: letters(:)
      type(c_ptr) :: at
      integer :: i
      at = c_last_error(handle)
      call c_f_pointer(at, letters, [c_strlen(at)])
      allocate (character(size(letters)) :: text)
      do i = 1, size(letters)
         text(i:i) = letters(i)
      end do
   end function

   ! The sentence of the last call that was refused.
   function tacit_last_error(ctx) result(text)
      type(tacit_context), intent(in) :: ctx
      character(:), allocatable :: text
      text = sentence(ctx%handle)
   end function

   integer function constant(name)
      character(*), intent(in) :: name
      integer(c_int64_t) :: value
      if (.not. c_constant(name//c_null_char, value)) then
         write (error_unit, '(3a)') 'tacit: the library has no ', name, ': it is of another version than the module'
         error stop 1, quiet=.true.
      end if
      constant = int(value)
   end function

   subroutine tacit_init(ctx, status)
      type(tacit_context), intent(out) :: ctx
      integer, intent(out), optional :: status
      TACIT_ON_DEVICES = constant('TACIT_ON_DEVICES')
      TACIT_ON_HOST = constant('TACIT_ON_HOST')
      TACIT_ON_ONE_NODE = constant('TACIT_ON_ONE_NODE')
      TACIT_ON_EVERY_NODE = constant('TACIT_ON_EVERY_NODE')
      TACIT_SPLIT_1D = constant('TACIT_SPLIT_1D')
      TACIT_SPLIT_2D = constant('TACIT_SPLIT_2D')
      TACIT_OP_SUM = constant('TACIT_OP_SUM')
      TACIT_OP_PRODUCT = constant('TACIT_OP_PRODUCT')
      TACIT_OP_MIN = constant('TACIT_OP_MIN')
      TACIT_OP_MAX = constant('TACIT_OP_MAX')
      TACIT_INT32 = constant('TACIT_INT32')
      TACIT_INT64 = constant('TACIT_INT64')
      TACIT_FLOAT = constant('TACIT_FLOAT')
      TACIT_DOUBLE = constant('TACIT_DOUBLE')
      TACIT_COLOURS_HEAT = constant('TACIT_COLOURS_HEAT')
      TACIT_COLOURS_GREY = constant('TACIT_COLOURS_GREY')
      TACIT_COLOURS_SIGNED = constant('TACIT_COLOURS_SIGNED')
      mode_read = constant('TACIT_READ')
      mode_write = constant('TACIT_WRITE')
      mode_update = constant('TACIT_UPDATE')
      mode_reduce = constant('TACIT_REDUCE')
      map_one_to_one = constant('TACIT_MAPPER_ONE_TO_ONE')
      map_all = constant('TACIT_MAPPER_ALL')
      map_fixed = constant('TACIT_MAPPER_FIXED')
      map_slice = constant('TACIT_MAPPER_SLICE')
      map_neighborhood = constant('TACIT_MAPPER_NEIGHBORHOOD')
      map_star = constant('TACIT_MAPPER_STAR')
      map_transposed = constant('TACIT_MAPPER_TRANSPOSED')
      map_replicated = constant('TACIT_MAPPER_REPLICATED')
      map_periodic = constant('TACIT_MAPPER_PERIODIC')
      map_custom = constant('TACIT_MAPPER_CUSTOM')
      call conclude(c_null_ptr, c_init(ctx%handle), status)
   end subroutine

   subroutine tacit_finalize(ctx, status)
      type(tacit_context), intent(inout) :: ctx
      integer, intent(out), optional :: status
      integer(c_int) :: code
      code = c_finalize(ctx%handle)
      ctx%handle = c_null_ptr
      if (present(status)) then
         status = code
      else if (code /= 0) then
         error stop 1, quiet=.true.
      end if
   end subroutine

   subroutine tacit_wait(ctx, status)
      type(tacit_context), intent(in) :: ctx
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_wait(ctx%handle), status)
   end subroutine

   subroutine tacit_barrier(ctx, status)
      type(tacit_context), intent(in) :: ctx
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_barrier(ctx%handle), status)
   end subroutine

   integer function tacit_node(ctx)
      type(tacit_context), intent(in) :: ctx
      tacit_node = c_node(ctx%handle)
   end function

   integer function tacit_num_nodes(ctx)
      type(tacit_context), intent(in) :: ctx
      tacit_num_nodes = c_num_nodes(ctx%handle)
   end function

   ! ---- buffers

   ! A buffer of this shape, with elements of so many bytes: storage_size(x) / 8. `init`: its contents, the same on all nodes, copied.
   subroutine tacit_buffer_create(ctx, buffer, shape, elem_size, name, init, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(out) :: buffer
      integer, intent(in) :: shape(:), elem_size
      character(*), intent(in) :: name
      type(*), dimension(..), contiguous, intent(in), optional :: init
      integer, intent(out), optional :: status
      integer(c_int) :: code
      if (present(init)) then
         code = c_create(ctx%handle, name//c_null_char, size(shape), int(shape, int64), int(elem_size, c_size_t), &
                         init, buffer%handle)
      else
         code = c_create(ctx%handle, name//c_null_char, size(shape), int(shape, int64), int(elem_size, c_size_t), &
                         buffer=buffer%handle)
      end if
      call conclude(ctx%handle, code, status)
   end subroutine

   subroutine tacit_buffer_destroy(ctx, buffer, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(inout) :: buffer
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_destroy(ctx%handle, buffer%handle), status)
      buffer%handle = c_null_ptr
   end subroutine

   ! Another shape of the same rank, in order with the tasks: what both have keeps its contents, the rest is to be written.
   subroutine tacit_buffer_resize(ctx, buffer, shape, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(in) :: buffer
      integer, intent(in) :: shape(:)
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_resize(ctx%handle, buffer%handle, size(shape), int(shape, int64)), status)
   end subroutine

   ! Set all elements to `value`: a task, in order with the others.
   subroutine tacit_fill(ctx, buffer, value, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(in) :: buffer
      type(*), dimension(..), intent(in) :: value
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_fill(ctx%handle, buffer%handle, value), status)
   end subroutine

   ! Wait for the newest contents, and copy them to an array of the buffer's shape; the same on all nodes.
   subroutine tacit_fence_read(ctx, buffer, array, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(in) :: buffer
      type(*), dimension(..), contiguous, intent(inout) :: array
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_read(ctx%handle, buffer%handle, array), status)
   end subroutine

   ! ---- mappers: tacit/mapper.h says what each of them is

   type(tacit_mapper) function one_to_one()
      one_to_one%kind = map_one_to_one
   end function

   type(tacit_mapper) function all_of_it()
      all_of_it%kind = map_all
   end function

   type(tacit_mapper) function replicated()
      replicated%kind = map_replicated
   end function

   type(tacit_mapper) function with_extents(kind, extents) result(m)
      integer, intent(in) :: kind, extents(:)
      m%kind = kind
      m%arg(1:size(extents)) = extents
   end function

   ! Extents in the order of the array's dimensions: as many as it has.
   type(tacit_mapper) function neighborhood(extents)
      integer, intent(in) :: extents(:)
      neighborhood = with_extents(map_neighborhood, extents)
   end function

   type(tacit_mapper) function star(extents)
      integer, intent(in) :: extents(:)
      star = with_extents(map_star, extents)
   end function

   type(tacit_mapper) function periodic(extents)
      integer, intent(in) :: extents(:)
      periodic = with_extents(map_periodic, extents)
   end function

   ! transposed([2, 1]): dimension 1 of the array follows dimension 2 of the task.
   type(tacit_mapper) function transposed(order)
      integer, intent(in) :: order(:)
      transposed = with_extents(map_transposed, order)
   end function

   ! Everything along dimension `dim` of the array, from 1.
   type(tacit_mapper) function slice(dim)
      integer, intent(in) :: dim
      slice = with_extents(map_slice, [dim])
   end function

   ! The elements from `lower` to `upper`, both included.
   type(tacit_mapper) function fixed(lower, upper)
      integer, intent(in) :: lower(:), upper(:)
      fixed%kind = map_fixed
      fixed%arg(1:size(lower)) = lower
      fixed%arg(4:3 + size(upper)) = upper
   end function

   ! ---- accesses

   type(tacit_access) function access_of(buffer, mode, mapper) result(a)
      type(tacit_buffer), intent(in) :: buffer
      integer, intent(in) :: mode
      type(tacit_mapper), intent(in) :: mapper
      a = tacit_access(buffer%handle, mode, mapper%kind, mapper%arg)
   end function

   type(tacit_access) function tacit_read(buffer, mapper)
      type(tacit_buffer), intent(in) :: buffer
      type(tacit_mapper), intent(in) :: mapper
      tacit_read = access_of(buffer, mode_read, mapper)
   end function

   type(tacit_access) function tacit_write(buffer, mapper)
      type(tacit_buffer), intent(in) :: buffer
      type(tacit_mapper), intent(in) :: mapper
      tacit_write = access_of(buffer, mode_write, mapper)
   end function

   type(tacit_access) function tacit_update(buffer, mapper)
      type(tacit_buffer), intent(in) :: buffer
      type(tacit_mapper), intent(in) :: mapper
      tacit_update = access_of(buffer, mode_update, mapper)
   end function

   ! `operator`: TACIT_OP_SUM, ...; `type`: TACIT_DOUBLE, ...
   type(tacit_access) function tacit_reduce(buffer, operator, type)
      type(tacit_buffer), intent(in) :: buffer
      integer, intent(in) :: operator, type
      tacit_reduce = tacit_access(buffer%handle, mode_reduce, operator, [int(type, int64), spread(0_int64, 1, 5)])
   end function

   ! ---- custom mappers

   ! A mapper that a function says, for tasks of so many dimensions. `data`: handed to every call; what is there must live as
   ! long as the context. `constant`: the result does not depend on the items.
   subroutine tacit_mapper_create(ctx, mapper, function, rank, data, constant, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_mapper), intent(out) :: mapper
      procedure(tacit_mapping) :: function
      integer, intent(in) :: rank
      type(c_ptr), intent(in), optional :: data
      logical, intent(in), optional :: constant
      integer, intent(out), optional :: status
      type(c_ptr) :: given
      logical(c_bool) :: is_constant
      integer(c_int) :: handle, code
      given = c_null_ptr
      is_constant = .false.
      if (present(data)) given = data
      if (present(constant)) is_constant = constant
      code = c_mapper(ctx%handle, c_funloc(function), rank, given, is_constant, handle)
      mapper%kind = map_custom
      mapper%arg(1) = handle
      call conclude(ctx%handle, code, status)
   end subroutine

   ! Tasks that were submitted before go on with it.
   subroutine tacit_mapper_destroy(ctx, mapper, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_mapper), intent(in) :: mapper
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_mapper_destroy(ctx%handle, int(mapper%arg(1), c_int)), status)
   end subroutine

   ! In a custom mapper: the elements from `lower` to `upper`, both included, one entry for each dimension of the buffer.
   subroutine tacit_add_box(answer, lower, upper)
      type(c_ptr), value :: answer
      integer(int64), intent(in) :: lower(:), upper(:)
      integer(int64) :: first(3), last(3)
      first = 1
      last = 1
      first(1:min(3, size(lower))) = lower(1:min(3, size(lower)))
      last(1:min(3, size(upper))) = upper(1:min(3, size(upper)))
      call c_add_box(answer, first, last)
   end subroutine

   ! ---- weights of items

   ! Weights of the items along the last dimension of tasks, from item 1 on: parts have about equal sums of them.
   subroutine tacit_weights_create(ctx, weights, weight, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_weights), intent(out) :: weights
      integer(int64), intent(in) :: weight(:)
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_weights(ctx%handle, size(weight, kind=int64), weight, weights%handle), status)
   end subroutine

   ! Tasks that were submitted before still use them.
   subroutine tacit_weights_destroy(ctx, weights, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_weights), intent(inout) :: weights
      integer, intent(out), optional :: status
      call conclude(ctx%handle, c_weights_destroy(ctx%handle, weights%handle), status)
      weights%handle = c_null_ptr
   end subroutine

   ! ---- tasks

   ! A kernel for OpenCL or CUDA devices: a text, and the name of a TACIT_KERNEL in it (doc/devices.md); both are copied. `group`: items
   ! of a work-group in each dimension of the task. In the text dimensions and indices are C's: the last one is Fortran's first,
   ! and the first element has index 0.
   subroutine tacit_program_create(program, source, entry, group)
      type(tacit_program), intent(out) :: program
      character(*), intent(in) :: source, entry
      integer, intent(in), optional :: group(:)
      integer(c_int64_t) :: none(0)
      if (present(group)) then
         program%handle = c_program(source//c_null_char, trim(entry)//c_null_char, size(group), int(group, c_int64_t))
      else
         program%handle = c_program(source//c_null_char, trim(entry)//c_null_char, 0, none)
      end if
      if (.not. c_associated(program%handle)) error stop 'tacit_program_create: no memory'
   end subroutine

   ! After tacit_finalize of every context whose tasks have had it.
   subroutine tacit_program_destroy(program)
      type(tacit_program), intent(inout) :: program
      call c_program_destroy(program%handle)
      program%handle = c_null_ptr
   end subroutine

   ! Submit a task over items of this shape. `kernel` is a subroutine with bind(c) and the argument `type(c_ptr), value :: k`. `args`: a
   ! variable whose args_size bytes are copied; tacit_args gives its address in the kernel. `node`: all of it runs there, from 0;
   ! `owner`: on the node that owns what access number `owner`, from 1, names. The other hints are those of tacit/task.h.
   ! `opencl`, `cuda`: the kernels of accelerators, beside that of the host.
   subroutine tacit_submit(ctx, name, shape, kernel, accesses, on, split, args, args_size, item_weights, status, node, owner, &
                           priority, pure, whole_chunk, opencl, cuda)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: name
      integer, intent(in) :: shape(:)
      procedure(tacit_kernel) :: kernel
      type(tacit_access), intent(in) :: accesses(:)
      integer, intent(in), optional :: on, split, args_size, node, owner, priority
      type(c_ptr), intent(in), optional :: args
      type(tacit_weights), intent(in), optional :: item_weights
      logical, intent(in), optional :: pure, whole_chunk
      integer, intent(out), optional :: status
      type(tacit_program), intent(in), optional :: opencl, cuda
      type(how) :: h
      h = how(TACIT_ON_DEVICES, 0, -1, -1, 0, .false., .false., c_null_ptr, c_null_ptr, 0, c_null_ptr, c_null_ptr)
      if (present(on)) h%on = on
      if (present(split)) h%split = split
      if (present(node)) h%node = node
      if (present(owner)) h%owner = owner
      if (present(priority)) h%priority = priority
      if (present(pure)) h%pure = pure
      if (present(whole_chunk)) h%whole_chunk = whole_chunk
      if (present(args)) h%args = args
      if (present(args_size)) h%args_size = args_size
      if (present(item_weights)) h%item_weights = item_weights%handle
      if (present(opencl)) h%opencl = opencl%handle
      if (present(cuda)) h%cuda = cuda%handle
      call conclude(ctx%handle, c_submit(ctx%handle, name//c_null_char, size(shape), int(shape, int64), c_funloc(kernel), &
                                         size(accesses), accesses, h), status)
   end subroutine

   ! ---- in kernels

   ! The items to compute: from lower(d) to upper(d) in each dimension, both included; 1 to 1 in those that the task does not have.
   subroutine tacit_chunk(k, lower, upper)
      type(c_ptr), value :: k
      integer(int64), intent(out) :: lower(3), upper(3)
      call c_chunk(k, lower, upper)
   end subroutine

   ! The address of the task's arguments, for c_f_pointer.
   type(c_ptr) function tacit_args(k)
      type(c_ptr), value :: k
      tacit_args = c_args(k)
   end function

   ! The node that the kernel runs on.
   integer function tacit_launch_node(k)
      type(c_ptr), value :: k
      tacit_launch_node = c_launch_node(k)
   end function

   ! The run has failed, for this reason: an error of the context, which ends the job on all nodes. The kernel returns soon after.
   subroutine tacit_kernel_fail(k, text)
      type(c_ptr), value :: k
      character(*), intent(in) :: text
      call c_fail(k, trim(text)//c_null_char)
   end subroutine

   subroutine check_view(k, index, bytes)
      type(c_ptr), value :: k
      integer, intent(in) :: index, bytes
      character(100) :: text
      if (c_view_elem_size(k, int(index, c_int)) /= bytes) then
         write (text, '(a,i0,a,i0,a,i0)') 'tacit_view: access ', index, ' has elements of ', &
            c_view_elem_size(k, int(index, c_int)), ' bytes, but the pointer of ', bytes
         write (error_unit, '(a)') trim(text)
         call c_fail(k, trim(text)//c_null_char)
      end if
   end subroutine

#define TYPE real(real64)
#define NAME(rank) view_r8/**/rank
#include "view.inc"
#define TYPE real(real32)
#define NAME(rank) view_r4/**/rank
#include "view.inc"
#define TYPE integer(int32)
#define NAME(rank) view_i4/**/rank
#include "view.inc"
#define TYPE integer(int64)
#define NAME(rank) view_i8/**/rank
#include "view.inc"
end module tacit
